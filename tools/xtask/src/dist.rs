//! The parts of a distribution, made of one release build for this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::template::{TemplateError, packaged};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const CONTAINERFILE: &str = include_str!("../Containerfile");
/// Beside the program in its archive.
const PAPERS: [&str; 2] = ["README.md", "LICENSE"];

/// What is made, and where.
#[derive(Debug, Args)]
pub(crate) struct Dist {
    /// Makes these parts alone
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Part::Wheel, Part::Archive, Part::Image, Part::Functions])]
    parts: Vec<Part>,
    /// Where they go; what is there already is replaced
    #[arg(long, default_value = "dist")]
    out: PathBuf,
    /// The functions for arm64; `Architecture=arm64` deploys them
    #[arg(long)]
    arm64: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// For pip
    Wheel,
    /// The program in a tar.gz
    Archive,
    /// The program and a Containerfile
    Image,
    /// A zip for each function, and a template that names them
    Functions,
}

/// Something was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DistError {
    #[error("`{0}` is not installed: {1}")]
    Missing(String, &'static str),
    #[error("`{0}` failed; what it said is above")]
    Failed(String),
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("{0} is not there: template.yaml names a program that cargo-lambda did not build")]
    NoPackage(PathBuf),
}

impl Dist {
    pub(crate) fn run(&self) -> Result<(), DistError> {
        fs::create_dir_all(&self.out).map_err(at(&self.out))?;
        let wants = |part| self.parts.contains(&part);
        if wants(Part::Wheel) {
            self.wheel()?;
        }
        if wants(Part::Archive) || wants(Part::Image) {
            let program = self.program()?;
            if wants(Part::Archive) {
                self.archive(&program)?;
            }
            if wants(Part::Image) {
                copy(&program, &self.out.join("nagare"))?;
                write(&self.out.join("Containerfile"), CONTAINERFILE)?;
            }
        }
        if wants(Part::Functions) {
            self.functions()?;
        }
        Ok(())
    }

    fn wheel(&self) -> Result<(), DistError> {
        let mut maturin = Command::new("maturin");
        maturin.args(["build", "--release", "--locked", "--out"]).arg(&self.out);
        run(&mut maturin, "pip install --requirement tests/wheel/requirements.txt")
    }

    /// The program for this machine, built as the wheel's is.
    fn program(&self) -> Result<PathBuf, DistError> {
        let mut cargo = Command::new(env!("CARGO"));
        run(cargo.args(["build", "--release", "--bins", "--locked"]), "https://rustup.rs")?;
        Ok(PathBuf::from("target/release/nagare"))
    }

    fn archive(&self, program: &Path) -> Result<(), DistError> {
        let name = format!("nagare-{VERSION}-{}", target()?);
        let folder = self.out.join(&name);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        copy(program, &folder.join("nagare"))?;
        PAPERS.iter().try_for_each(|paper| copy(Path::new(paper), &folder.join(paper)))?;
        let mut tar = Command::new("tar");
        tar.args(["--create", "--gzip", "--owner=0", "--group=0", "--sort=name"])
            .arg("--file")
            .arg(self.out.join(format!("{name}.tar.gz")))
            .arg("--directory")
            .arg(&self.out)
            .arg(&name);
        run(&mut tar, "it is GNU tar")?;
        fs::remove_dir_all(&folder).map_err(at(&folder))
    }

    fn functions(&self) -> Result<(), DistError> {
        let template = Path::new("template.yaml");
        let text = fs::read_to_string(template).map_err(at(template))?;
        let packaged = packaged(&text)?;
        let mut lambda = Command::new("cargo-lambda");
        lambda.args(["lambda", "build", "--release", "--output-format", "zip"]);
        lambda.args(packaged.programs.iter().flat_map(|program| ["--bin", program]));
        if self.arm64 {
            lambda.arg("--arm64");
        }
        run(&mut lambda, "pip install --requirement tests/deploy/requirements-build.txt")?;
        let folder = self.out.join("functions");
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        for program in &packaged.programs {
            let built = Path::new("target/lambda").join(program).join("bootstrap.zip");
            if !built.exists() {
                return Err(DistError::NoPackage(built));
            }
            copy(&built, &folder.join(format!("{program}.zip")))?;
        }
        copy(Path::new("stack-policy.json"), &self.out.join("stack-policy.json"))?;
        write(&self.out.join("template.yaml"), &packaged.text)
    }
}

/// What this machine's programs are compiled for, as rustc calls it.
fn target() -> Result<String, DistError> {
    let asked = Command::new("rustc").args(["--print", "host-tuple"]).output();
    let output = asked.map_err(|_| DistError::Missing("rustc".to_owned(), "https://rustup.rs"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a program, and says how to install it where it is missing.
fn run(command: &mut Command, remedy: &'static str) -> Result<(), DistError> {
    let name = command.get_program().to_string_lossy().into_owned();
    // What cargo tells this program of its own package. A build script that asks for it would run again, and with it most of a build.
    for (variable, _) in std::env::vars_os() {
        let is_own = |start: &&str| variable.to_string_lossy().starts_with(start);
        if ["CARGO_MANIFEST_", "CARGO_PKG_"].iter().any(is_own) {
            command.env_remove(&variable);
        }
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(DistError::Failed(name)),
        Err(_) => Err(DistError::Missing(name, remedy)),
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DistError {
    let path = path.to_owned();
    move |error| DistError::File(path, error)
}

fn copy(from: &Path, to: &Path) -> Result<(), DistError> {
    fs::copy(from, to).map(|_| ()).map_err(at(from))
}

fn write(path: &Path, text: &str) -> Result<(), DistError> {
    fs::write(path, text).map_err(at(path))
}
