/** Entry point of the thread that reads documents for commands. */

import { handles, serveJobs } from '../foundation/jobs/serve-jobs.ts'
import { COMPILE, PUBLISH, READ } from '../control/publishing/document-reader.ts'
import { toPublicDocument } from '../control/publishing/public-document.ts'
import { compileAccepted, readDocument } from '../control/publishing/read-document.ts'

serveJobs([handles(READ, readDocument), handles(COMPILE, compileAccepted), handles(PUBLISH, toPublicDocument)])
