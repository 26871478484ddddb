/** Entry point of a document thread of the service. */

import { LINT_JOBS } from '../governance/lint/lint-jobs.ts'
import { serveJobs } from '../jobs/serve-jobs.ts'

serveJobs(LINT_JOBS)
