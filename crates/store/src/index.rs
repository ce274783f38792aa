//! The index: the listed fields of every run, in SQLite. It contains nothing that is not in the files.
//!
//! Users of the file hold a shared lock on `index.lock`. Whoever finds it damaged waits for an exclusive lock,
//! because a database must not be removed while it is open.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use record::StoredRun;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, Transaction, TransactionBehavior, params};

use crate::files::Files;
use crate::{Error, Filter, Id, Listing, write};

/// Raised with every change of the tables and of what they are filled with; the file's name has it.
pub const VERSION: i32 = 2;

/// How long other processes are waited for. A part of the index is written within a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between names of models.
const SEPARATOR: &str = "\u{1f}";

/// The order of lists is an index with all that filters ask for, so that runs which do not pass are not looked up: that took
/// 0.7 s for 100,000 of them.
const TABLES: &str = "
    CREATE TABLE run(
        id TEXT PRIMARY KEY, created TEXT NOT NULL, created_ns INTEGER, stored_ns INTEGER NOT NULL,
        subject TEXT NOT NULL, subject_version TEXT, git_commit TEXT, dirty INTEGER, profile TEXT,
        machine_key TEXT NOT NULL, workload TEXT NOT NULL, models TEXT NOT NULL, threads INTEGER,
        decode_tokens_per_s REAL, interrupted INTEGER NOT NULL, failures INTEGER NOT NULL, schema_version INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX run_by_time ON run(created_ns DESC, stored_ns DESC, id, workload, models, git_commit);
    CREATE TABLE fault(name TEXT PRIMARY KEY, message TEXT NOT NULL, stamp TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE folder(name TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
";

const COLUMNS: &str = "id, created, subject, subject_version, git_commit, dirty, profile, machine_key, workload, models, \
     threads, decode_tokens_per_s, interrupted, failures, schema_version";

/// An open index.
#[derive(Debug)]
pub struct Index {
    connection: Connection,
    /// Held as long as the file is used; `None` in memory, and where the system knows no locks.
    _lock: Option<File>,
}

/// Where to get an index from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IndexSource {
    /// The open one.
    Open,
    /// The one on disk, or a new one there.
    Disk,
    /// A new one on disk.
    Anew,
    /// One in memory, filled from what can be read of the one on disk.
    Memory,
    /// One in memory, from the files alone.
    Bare,
}

/// Why the index could not be used.
#[derive(Debug)]
pub enum IndexError {
    /// The index itself.
    Sql(rusqlite::Error),
    /// Its file, or the lock.
    File(std::io::Error),
    /// The tables have another version.
    Strange,
    /// The files of the runs: another index would not help.
    Store(Error),
}

impl From<rusqlite::Error> for IndexError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for IndexError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::Strange => f.write_str("its tables have another version"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl IndexError {
    /// Whether a new file would help: not if the disk is full, permissions are missing or others hold it.
    pub fn is_broken_index(&self) -> bool {
        match self {
            Self::Strange => true,
            Self::Sql(error) => !matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::CannotOpen
                        | ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::DiskFull
                        | ErrorCode::FileLockingProtocolFailed
                        | ErrorCode::OutOfMemory
                        | ErrorCode::PermissionDenied
                        | ErrorCode::ReadOnly
                        | ErrorCode::SystemIoFailure
                )
            ),
            Self::File(_) | Self::Store(_) => false,
        }
    }
}

type IndexResult<T> = Result<T, IndexError>;

impl Index {
    /// Opens an index.
    pub fn open(files: &Files, means: IndexSource) -> IndexResult<Self> {
        match means {
            IndexSource::Memory => Self::in_memory(files),
            IndexSource::Bare => Self::empty(),
            // An empty store needs no index on disk, and reading must not create one.
            _ if !files.runs().is_dir() => Self::in_memory(files),
            IndexSource::Anew => Self::anew(files),
            IndexSource::Open | IndexSource::Disk => {
                Self::on_disk(&files.index(), lock(&files.lock(), File::try_lock_shared)?)
            }
        }
    }

    fn on_disk(path: &Path, lock: Option<File>) -> IndexResult<Self> {
        // SQLite gives its log the rights of the file, and the file those of any other.
        match write::private(OpenOptions::new().write(true).create_new(true)).open(path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(IndexError::File(error)),
            _ => {}
        }
        let about = fs::metadata(path).map_err(IndexError::File)?;
        if !(about.is_file() || about.is_dir()) {
            // Opening a pipe waits for somebody at its other end.
            return Err(IndexError::File(std::io::Error::other("the index is not a regular file")));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        // Readers do not wait for writers. Where the file system cannot do it the answer is another mode, and that is fine.
        connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
        connection.execute_batch("PRAGMA synchronous=NORMAL")?;
        if version(&connection, "main")? != VERSION {
            make_tables(&mut connection)?;
        }
        Ok(Self { connection, _lock: lock })
    }

    /// Replaces a damaged file as soon as nobody uses it.
    fn anew(files: &Files) -> IndexResult<Self> {
        let path = files.index();
        let held = lock(&files.lock(), File::try_lock)?;
        for ending in ["", "-wal", "-shm", "-journal"] {
            let mut file = path.clone().into_os_string();
            file.push(ending);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(IndexError::File(error)),
                _ => {}
            }
        }
        // Closed before the lock is shared: another process may find this file damaged too, and remove it.
        drop(Self::on_disk(&path, None)?);
        if let Some(held) = &held {
            held.unlock().and_then(|()| held.lock_shared()).map_err(IndexError::File)?;
        }
        Self::on_disk(&path, held)
    }

    /// Identifies the file on disk, to notice when it was replaced.
    pub fn identity(files: &Files) -> Option<(u64, Option<SystemTime>)> {
        let about = fs::metadata(files.index()).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&about);
        #[cfg(not(unix))]
        let number = 0;
        Some((number, about.created().ok()))
    }

    fn in_memory(files: &Files) -> IndexResult<Self> {
        let seeded = Self::empty().and_then(|index| {
            index.copy_from(&files.index())?;
            Ok(index)
        });
        seeded.or_else(|_| Self::empty())
    }

    fn empty() -> IndexResult<Self> {
        let mut connection =
            Connection::open_in_memory_with_flags(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI)?;
        connection.execute_batch("PRAGMA journal_mode=OFF")?;
        make_tables(&mut connection)?;
        Ok(Self { connection, _lock: None })
    }

    /// Copies the tables of the file, so that not all runs have to be read again.
    fn copy_from(&self, path: &Path) -> IndexResult<()> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        // Beside a log the file alone may be half of what it was; without one it is whole, and nobody need lock it.
        let mode = if Path::new(&log).exists() { "mode=ro" } else { "mode=ro&immutable=1" };
        self.connection.execute("ATTACH DATABASE ?1 AS disk", [uri(path, mode)])?;
        if version(&self.connection, "disk")? != VERSION {
            return Err(IndexError::Strange);
        }
        for table in ["run", "fault", "folder"] {
            self.connection.execute_batch(&format!("INSERT INTO main.{table} SELECT * FROM disk.{table}"))?;
        }
        self.connection.execute_batch("DETACH DATABASE disk")?;
        Ok(())
    }

    /// Deletes all rows.
    pub fn clear(&mut self) -> IndexResult<()> {
        let change = self.change()?;
        change.0.execute_batch("DELETE FROM run; DELETE FROM fault; DELETE FROM folder")?;
        change.keep()
    }

    /// The runs that match a filter, without their tags and paths; `only` this one, if given.
    pub fn list(&self, filter: &Filter, only: Option<&Id>) -> rusqlite::Result<Listing> {
        let condition = "(?1 IS NULL OR id = ?1) AND (?2 IS NULL OR workload = ?2)
            AND (?3 IS NULL OR instr(lower(models), lower(?3)) > 0)
            AND (?4 IS NULL OR substr(git_commit, 1, length(?4)) = lower(?4))
            AND (?5 IS NULL OR created_ns >= ?5)";
        let bounds = params![only.map(Id::as_str), filter.workload, filter.model, filter.commit, filter.since];
        let count = format!("SELECT count(*) FROM run WHERE {condition}");
        let matching: i64 = self.connection.query_row(&count, bounds, |row| row.get(0))?;
        let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        // The inner question is answered by the index `run_by_time` alone.
        let order = "ORDER BY created_ns DESC, stored_ns DESC, id";
        let newest = format!(
            "SELECT {COLUMNS} FROM run WHERE id IN (SELECT id FROM run WHERE {condition} {order} LIMIT {limit}) {order}"
        );
        let runs = self.connection.prepare(&newest)?.query_map(bounds, stored_run)?.collect::<Result<_, _>>()?;
        let mut faults = self.connection.prepare("SELECT name, message FROM fault ORDER BY name")?;
        let faults = faults.query_map([], |row| Ok(record::StoreFault { path: row.get(0)?, message: row.get(1)? }))?;
        Ok(Listing { runs, matching: matching.unsigned_abs(), faults: faults.collect::<Result<_, _>>()? })
    }

    /// Pairs of texts that a query returns.
    pub fn pairs(&self, question: &str, bounds: &[&str]) -> IndexResult<Vec<(String, String)>> {
        let mut statement = self.connection.prepare(question)?;
        let pairs = statement.query_map(rusqlite::params_from_iter(bounds), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(pairs.collect::<Result<_, _>>()?)
    }

    /// Starts a transaction.
    pub fn change(&mut self) -> IndexResult<Change<'_>> {
        Ok(Change(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?))
    }
}

/// A transaction: others see all of its changes at once.
pub struct Change<'a>(Transaction<'a>);

impl Change<'_> {
    /// Adds a run. `stored_ns` orders runs that began at the same time.
    pub fn add_run(&self, run: &StoredRun, stored_ns: i64) -> IndexResult<()> {
        let question = format!(
            "INSERT OR REPLACE INTO run({COLUMNS}, created_ns, stored_ns) \
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
        );
        self.0.execute(
            &question,
            params![
                run.id,
                run.created,
                run.subject,
                run.subject_version,
                run.commit.as_ref().map(|commit| commit.to_ascii_lowercase()),
                run.dirty,
                run.profile,
                run.machine_key,
                run.workload,
                run.models.join(SEPARATOR),
                run.threads.and_then(|threads| i64::try_from(threads).ok()),
                run.decode_tokens_per_s,
                run.interrupted,
                i64::try_from(run.failures).unwrap_or(i64::MAX),
                run.schema_version,
                crate::moment(&run.created),
                stored_ns,
            ],
        )?;
        Ok(())
    }

    /// Executes a statement with its values.
    pub fn execute(&self, statement: &str, values: &[&str]) -> IndexResult<()> {
        self.0.execute(statement, rusqlite::params_from_iter(values))?;
        Ok(())
    }

    /// Commits.
    pub fn keep(self) -> IndexResult<()> {
        Ok(self.0.commit()?)
    }
}

fn stored_run(row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    let models: String = row.get(9)?;
    Ok(StoredRun {
        id: row.get(0)?,
        created: row.get(1)?,
        subject: row.get(2)?,
        subject_version: row.get(3)?,
        commit: row.get(4)?,
        dirty: row.get(5)?,
        profile: row.get(6)?,
        machine_key: row.get(7)?,
        workload: row.get(8)?,
        models: models.split(SEPARATOR).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        threads: row.get::<_, Option<i64>>(10)?.and_then(|threads| u64::try_from(threads).ok()),
        decode_tokens_per_s: row.get(11)?,
        interrupted: row.get(12)?,
        failures: u64::try_from(row.get::<_, i64>(13)?).unwrap_or_default(),
        schema_version: row.get(14)?,
        tags: Vec::new(),
        path: String::new(),
    })
}

fn version(connection: &Connection, database: &str) -> rusqlite::Result<i32> {
    connection.query_row(&format!("PRAGMA {database}.user_version"), [], |row| row.get(0))
}

/// Makes the tables in a file that has none; another process may be doing the same.
fn make_tables(connection: &mut Connection) -> IndexResult<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match version(&change, "main")? {
        VERSION => {}
        0 if change.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))? == 0 => {
            change.execute_batch(TABLES)?;
            change.pragma_update(None, "user_version", VERSION)?;
        }
        _ => return Err(IndexError::Strange),
    }
    Ok(change.commit()?)
}

/// A path as SQLite takes it, with what it is told.
fn uri(path: &Path, mode: &str) -> String {
    let absolute: PathBuf = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = String::from("file:");
    for byte in absolute.to_string_lossy().replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b':' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    format!("{uri}?{mode}")
}

/// Waits for a lock as long as others take to do their work. `None`: the system knows no locks.
fn lock(path: &Path, take: fn(&File) -> Result<(), TryLockError>) -> IndexResult<Option<File>> {
    // A pipe that is opened for reading too does not wait for somebody at its other end.
    let mut options = OpenOptions::new();
    let options = write::private(options.create(true).truncate(false).read(true).write(true));
    let file = options.open(path).map_err(IndexError::File)?;
    let begin = Instant::now();
    loop {
        match take(&file) {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(IndexError::File(error)),
            Err(TryLockError::WouldBlock) if begin.elapsed() > PATIENCE => {
                return Err(IndexError::File(std::io::ErrorKind::WouldBlock.into()));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
