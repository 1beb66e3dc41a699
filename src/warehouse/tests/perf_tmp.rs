//! tmp
use crate::warehouse::*;
#[test]
fn perf_tmp() {
    let Ok(dir) = std::env::var("PERF_DIR") else { return };
    let n: usize = std::env::var("PERF_N").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut parts = vec![];
    fn walk(d: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
        for e in fs_err::read_dir(d).unwrap() {
            let p = e.unwrap().path();
            if p.is_dir() {
                walk(&p, out)
            } else if p.extension().is_some_and(|e| e == "parquet") {
                out.push(p)
            }
        }
    }
    let mut files = vec![];
    walk(std::path::Path::new(&dir), &mut files);
    files.sort();
    for path in files.into_iter().take(n) {
        let seg = |k: &str| {
            path.iter().filter_map(|s| s.to_str()).find_map(|s| s.strip_prefix(k)).unwrap_or("claude").to_owned()
        };
        let table = path.iter().rev().nth(3).unwrap().to_str().unwrap().to_owned();
        let batch = seg("part-").chars().filter(|c| c.is_ascii_digit()).collect::<String>();
        let _ = batch;
        parts.push(Part { table, provider: seg("provider="), batch: 1, schema_version: 1, path });
    }
    let lake = LakeSnapshot { lake_id: "x".into(), generation: 1, parts, revising_providers: Default::default() };
    let cpu = || {
        let s = fs_err::read_to_string("/proc/self/stat").unwrap();
        let v: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
        (v[11].parse::<f64>().unwrap() + v[12].parse::<f64>().unwrap()) / 100.0
    };
    let q = std::env::var("PERF_Q").unwrap_or("daily_cost".into());
    let c0 = cpu();
    let mut out = vec![];
    if q == "refresh" {
        let db = std::path::PathBuf::from(&dir).join("../perf.duckdb");
        let sc = std::path::PathBuf::from(&dir).join("../scratch");
        fs_err::create_dir_all(&sc).unwrap();
        println!("{:?}", refresh(Target { database: &db, scratch: &sc }, &lake).unwrap());
    } else if q.contains(' ') {
        run(&lake, Question::Sql(&q), &Filters::default(), Format::Table, None, &mut out).unwrap();
    } else {
        run(&lake, Question::Bundled(&q), &Filters::default(), Format::Table, None, &mut out).unwrap();
    }
    println!("CPU {:.3} start {:.3} parts {}", cpu() - c0, c0, lake.parts.len());
    if std::env::var("PERF_SHOW").is_ok() {
        println!("{}", String::from_utf8_lossy(&out));
    }
}

#[test]
fn phases_tmp() {
    use super::super::*;
    use crate::pricing::PriceTable;
    let Ok(dir) = std::env::var("PERF_DIR") else { return };
    let n: usize = std::env::var("PERF_N").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    fn walk(d: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
        for e in fs_err::read_dir(d).unwrap() {
            let p = e.unwrap().path();
            if p.is_dir() {
                walk(&p, out)
            } else if p.extension().is_some_and(|e| e == "parquet") {
                out.push(p)
            }
        }
    }
    let mut files = vec![];
    walk(std::path::Path::new(&dir), &mut files);
    files.sort();
    let parts = files
        .into_iter()
        .take(n)
        .map(|path| Part { table: "usage".into(), provider: "claude".into(), batch: 1, schema_version: 1, path })
        .collect();
    let lake = LakeSnapshot { lake_id: "x".into(), generation: 1, parts, revising_providers: Default::default() };
    let cpu = || {
        let s = fs_err::read_to_string("/proc/self/stat").unwrap();
        let v: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
        (v[11].parse::<f64>().unwrap() + v[12].parse::<f64>().unwrap()) / 100.0
    };
    let mut last = cpu();
    let mut step = |what: &str| {
        let now = cpu();
        println!("{:.2} {what}", now - last);
        last = now;
    };
    let connection = connection::in_memory().unwrap();
    step("open");
    if let Ok(set) = std::env::var("PERF_SET") {
        for s in set.split(';') {
            connection.execute_batch(s).unwrap();
        }
    }
    let needed = objects::Needed::by("from daily_cost");
    stored::create_tables(&connection).unwrap();
    step("tables");
    let table = PriceTable::builtin().unwrap();
    step("parse prices");
    prices::create(&connection).unwrap();
    prices::fill_prices(&connection, table).unwrap();
    step("fill prices");
    let uses = prices::uses_in_parts(&lake).unwrap();
    step("uses");
    prices::fill_model_prices(&connection, table, uses).unwrap();
    step("model prices");
    time_zones::create(&connection).unwrap();
    time_zones::fill(&connection, [chrono_tz::Tz::UTC]).unwrap();
    step("zones");
    for object in needed.objects() {
        connection.execute_batch(object.sql).unwrap();
    }
    step("objects");
    stored::replace_by_views(&connection, needed.tables(), &lake).unwrap();
    step("replace");
    connection.execute_batch("select count(*) from stored.usage").unwrap();
    step("count");
    connection.execute_batch("select count(request_key), sum(input_tokens) from requests").unwrap();
    step("requests");
    connection.execute_batch("select sum(cost_usd) from priced_requests").unwrap();
    step("priced");
    connection.execute_batch("from daily_cost").unwrap();
    step("daily");
    connection.execute_batch("from daily_cost()").unwrap();
    step("daily again");
    connection.execute_batch("explain from daily_cost()").unwrap();
    step("explain");
}

#[test]
fn fill_tmp() {
    use super::super::*;
    use crate::pricing::PriceTable;
    let Ok(dir) = std::env::var("PERF_DIR") else { return };
    let n: usize = std::env::var("PERF_N").ok().and_then(|n| n.parse().ok()).unwrap_or(573);
    fn walk(d: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
        for e in fs_err::read_dir(d).unwrap() {
            let p = e.unwrap().path();
            if p.is_dir() {
                walk(&p, out)
            } else if p.extension().is_some_and(|e| e == "parquet") {
                out.push(p)
            }
        }
    }
    let mut files = vec![];
    walk(std::path::Path::new(&dir), &mut files);
    files.sort();
    let parts = files
        .into_iter()
        .take(n)
        .map(|path| Part { table: "usage".into(), provider: "claude".into(), batch: 1, schema_version: 1, path })
        .collect();
    let lake = LakeSnapshot { lake_id: "x".into(), generation: 1, parts, revising_providers: Default::default() };
    let cpu = || {
        let s = fs_err::read_to_string("/proc/self/stat").unwrap();
        let v: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
        (v[11].parse::<f64>().unwrap() + v[12].parse::<f64>().unwrap()) / 100.0
    };
    let mut last = cpu();
    let mut step = |what: &str| {
        let now = cpu();
        println!("{:.2} {what}", now - last);
        last = now;
    };
    let d = tempfile::TempDir::new().unwrap();
    let connection = connection::file(&d.path().join("x.duckdb")).unwrap();
    step("open");
    if let Ok(set) = std::env::var("PERF_SET") {
        for s in set.split(';') {
            connection.execute_batch(s).unwrap();
        }
    }
    connection.execute_batch("begin").unwrap();
    stored::create_tables(&connection).unwrap();
    step("tables");
    time_zones::create(&connection).unwrap();
    time_zones::fill(&connection, time_zones::all()).unwrap();
    step("zones");
    stored::load(&connection, &lake, |_| true).unwrap();
    step("load");
    let table = PriceTable::builtin().unwrap();
    prices::create(&connection).unwrap();
    prices::fill_prices(&connection, table).unwrap();
    step("fill prices");
    let uses = prices::uses_in_database(&connection).unwrap();
    step("uses");
    prices::fill_model_prices(&connection, table, uses).unwrap();
    step("model prices");
    for object in objects::OBJECTS {
        connection.execute_batch(object.sql).unwrap();
    }
    step("objects");
    connection.execute_batch("commit").unwrap();
    step("commit");
    connection.execute_batch("checkpoint").unwrap();
    step("checkpoint");
}
