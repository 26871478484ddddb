/** Entry point of the thread that reads documents for commands. */

import { handles, serveJobs } from '../jobs/serve-jobs.ts'
import { COMPILE, PUBLISH, READ } from '../publishing/document-reader.ts'
import { toPublicDocument } from '../publishing/public-document.ts'
import { compileAccepted, readDocument } from '../publishing/read-document.ts'

serveJobs([handles(READ, readDocument), handles(COMPILE, compileAccepted), handles(PUBLISH, toPublicDocument)])
