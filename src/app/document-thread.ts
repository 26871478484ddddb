/** Entry point of a document thread of the service. */

import { LINT_JOBS } from '../governance/lint/lint-jobs.ts'
import { handles, serveJobs } from '../jobs/serve-jobs.ts'
import { COMPILE, READ } from '../publishing/document-reader.ts'
import { compileAccepted, readDocument } from '../publishing/read-document.ts'

serveJobs([...LINT_JOBS, handles(READ, readDocument), handles(COMPILE, compileAccepted)])
