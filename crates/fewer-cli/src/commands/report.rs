//! `fewer report`

use clap::Args;
use fewer::data::DenseView;
use fewer_report::{ReportInput, report_html};
use std::path::PathBuf;

use crate::failure::Outcome;
use crate::input::{self, DataArgs, ReadArgs, speaker};
use crate::output;

/// Write a report on a model: one HTML file with pictures
#[derive(Args)]
pub struct Report {
    /// The model file
    model: PathBuf,
    /// Data with known targets, to show how near the model comes
    data: Option<PathBuf>,
    #[command(flatten)]
    how: ReadArgs,
    /// The column with the targets [default: the one the model was fitted on]
    #[arg(long, value_name = "COLUMN", requires = "data")]
    target: Option<String>,
    /// The report
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Print no messages but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Report {
    pub fn run(self) -> Outcome {
        let out = output::check_path(&self.out)?;
        let model = input::load(&self.model)?;
        let say = speaker(self.quiet);
        let compared = match self.data {
            Some(data) => {
                let data = DataArgs { data, how: self.how };
                let name = match data.data.as_os_str() == "-" {
                    true => "the data given".into(),
                    false => data.data.display().to_string(),
                };
                let (comparison, inputs) =
                    data.compare(&model, self.target.as_deref(), &[], &say)?;
                Some((name, comparison, inputs))
            }
            None => None,
        };
        let mut report = ReportInput::new(&model);
        let mut drawn = None;
        if let Some((name, comparison, inputs)) = compared.as_ref() {
            report = report.with_data(name, comparison);
            let features = if model.classes().is_some() { 2 } else { 1 };
            if model.feature_names().len() == features {
                drawn = Some(inputs.to_dense());
            }
        }
        if let Some(x) = &drawn {
            let view = DenseView::by_columns(x.as_slice(), x.rows(), x.columns())?;
            report = report.with_inputs(view);
        }
        output::write(&out, &report_html(&report))?;
        say(&format!("report: {}", self.out.display()));
        Ok(())
    }
}
