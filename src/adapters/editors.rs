//! User folders of VS Code and of the editors made of it, where extensions keep their sessions.

use std::path::PathBuf;

use crate::source::Roots;

/// Editors, below the folder where applications keep their settings.
const EDITORS: [&str; 6] = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Trae"];
/// Where applications keep their settings: Linux, macOS, Windows.
const SETTINGS: [&str; 3] = [".config", "Library/Application Support", "AppData/Roaming"];
/// User folders of remote servers.
const SERVERS: [&str; 4] = [
    ".vscode-server/data/User",
    ".vscode-server-insiders/data/User",
    ".cursor-server/data/User",
    ".windsurf-server/data/User",
];

/// The user folders that exist. The others are left out, since there are many and most homes hold one or two.
#[must_use]
pub fn user_folders(roots: &Roots) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for settings in SETTINGS {
        for editor in EDITORS {
            folders.extend(roots.in_home(settings).map(|settings| settings.join(editor).join("User")));
        }
    }
    folders.extend(SERVERS.iter().filter_map(|server| roots.in_home(server)));
    folders.retain(|folder| folder.is_dir());
    folders
}
