/** Entry point of a thread that only lints, for the command line. */

import { serveJobs } from '../../jobs/serve-jobs.ts'
import { LINT_JOBS } from './lint-jobs.ts'

serveJobs(LINT_JOBS)
