//! The template, without what builds the functions.

/// What `template.yaml` says of a function's program, line by line.
const BUILT: [&str; 3] =
    ["    Metadata:", "      BuildMethod: rust-cargolambda", "      BuildProperties:"];
const BINARY: &str = "        Binary: ";
const PROPERTIES: &str = "    Properties:";
/// Where `sam build` finds the sources of all functions.
const SOURCES: &str = "    CodeUri: .";

/// The template is written in another way than this reads it.
#[derive(Debug, thiserror::Error)]
#[error("template.yaml, line {line}: expected `{expected}`")]
pub(crate) struct TemplateError {
    line: usize,
    expected: &'static str,
}

/// A template whose functions are packages, and the names of their programs.
#[derive(Debug)]
pub(crate) struct Packaged {
    pub(crate) text: String,
    pub(crate) programs: Vec<String>,
}

/// Says of each function where its package is, instead of how it is built. Comments and order stay.
pub(crate) fn packaged(template: &str) -> Result<Packaged, TemplateError> {
    let (mut text, mut programs) = (String::new(), Vec::new());
    let mut lines = template.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let is_built = lines.peek().is_some_and(|(_, next)| *next == BUILT[1]);
        if line == BUILT[0] && is_built {
            for expected in &BUILT[1..] {
                let (at, found) = lines.next().unwrap_or((at, ""));
                if found != *expected {
                    return Err(TemplateError { line: at + 1, expected });
                }
            }
            let (at, binary) = lines.next().unwrap_or((at, ""));
            let missing = |expected| TemplateError { line: at + 1, expected };
            let program = binary.strip_prefix(BINARY).ok_or_else(|| missing(BINARY))?;
            if lines.next().is_none_or(|(_, next)| next != PROPERTIES) {
                return Err(missing(PROPERTIES));
            }
            text += &format!("{PROPERTIES}\n      CodeUri: functions/{program}.zip\n");
            programs.push(program.to_owned());
        } else if line != SOURCES {
            text += line;
            text.push('\n');
        }
    }
    Ok(Packaged { text, programs })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "\
Globals:
  Function:
    CodeUri: .
    Handler: bootstrap
Resources:
  # It writes.
  Writer:
    Type: AWS::Serverless::Function
    Metadata:
      BuildMethod: rust-cargolambda
      BuildProperties:
        Binary: fanout-writer
    Properties:
      MemorySize: 1769
";

    #[test]
    fn a_function_names_its_package() {
        let packaged = packaged(TEMPLATE).expect("a template");
        let expected = "\
Globals:
  Function:
    Handler: bootstrap
Resources:
  # It writes.
  Writer:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/fanout-writer.zip
      MemorySize: 1769
";
        assert_eq!(
            (packaged.text.as_str(), packaged.programs),
            (expected, vec!["fanout-writer".to_owned()])
        );
    }

    #[test]
    fn what_is_written_in_another_way_is_named_by_its_line() {
        let other = TEMPLATE.replace("        Binary: ", "        Bin: ");
        let error = packaged(&other).expect_err("no program");
        assert_eq!(error.to_string(), "template.yaml, line 12: expected `        Binary: `");
    }
}
