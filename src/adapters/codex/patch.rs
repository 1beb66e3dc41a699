//! What an `apply_patch` call says it does: the file, and the lines it adds and removes.

/// How a patch begins, wherever it stands.
const BEGIN: &str = "*** Begin Patch";
/// How a patch ends.
const END: &str = "*** End Patch";

/// A patch in short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patch<'a> {
    /// The first file that it touches.
    pub file: Option<&'a str>,
    /// Lines added in all files.
    pub added: i64,
    /// Lines removed in all files, where the patch shows them: a deleted file is not shown.
    pub removed: i64,
}

/// Finds a patch in a tool's input. `input` is plain text, or JSON text, in which line ends are escaped.
pub fn find(input: &str) -> Option<Patch<'_>> {
    let start = memchr::memmem::find(input.as_bytes(), BEGIN.as_bytes())?;
    let body = input.get(start + BEGIN.len()..)?;
    let is_plain = body.starts_with(['\n', '\r']);
    let body = memchr::memmem::rfind(body.as_bytes(), END.as_bytes()).and_then(|end| body.get(..end)).unwrap_or(body);
    let mut patch = Patch::default();
    if is_plain {
        body.split('\n').for_each(|line| patch.line(line.trim_end_matches('\r')));
    } else {
        body.split("\\n").for_each(|line| patch.line(line.trim_end_matches("\\r")));
    }
    Some(patch)
}

impl<'a> Patch<'a> {
    fn line(&mut self, line: &'a str) {
        if let Some(heading) = line.strip_prefix("*** ") {
            let file = ["Update File: ", "Add File: ", "Delete File: "]
                .iter()
                .find_map(|start| heading.strip_prefix(start))
                .map(str::trim);
            self.file = self.file.or(file);
        } else if line.starts_with('+') {
            self.added += 1;
        } else if line.starts_with('-') {
            self.removed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn a\n context\n-old\n+new\n+newer\n*** Add File: b.rs\n+x\n*** End Patch\n";

    #[test]
    fn plain_and_escaped_patches_read_alike() {
        let expected = Patch { file: Some("src/a.rs"), added: 3, removed: 1 };
        assert_eq!(find(PATCH), Some(expected));
        let escaped = format!("{{\"cmd\":\"apply_patch <<'EOF'\\n{}EOF\"}}", PATCH.replace('\n', "\\n"));
        assert_eq!(find(&escaped), Some(expected));
        assert_eq!(find(&PATCH.replace('\n', "\r\n")), Some(expected));
    }

    #[test]
    fn no_patch_and_a_torn_one() {
        assert_eq!(find("{\"cmd\":\"ls\"}"), None);
        assert_eq!(find("*** Begin Patch"), Some(Patch::default()));
    }
}
