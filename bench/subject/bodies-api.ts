/** The bench API with two more operations: one returns a file, one accepts an upload. */

import { BENCH_OPENAPI, BENCH_OPENSLA } from './bench-api.ts'
import type { SubjectApi } from './tollgate.ts'

const security = [{ oauth2: ['items:read'] }]

export const BODIES_API: SubjectApi = {
  opensla: BENCH_OPENSLA,
  openapi: {
    ...BENCH_OPENAPI,
    paths: {
      ...BENCH_OPENAPI.paths,
      '/files/{name}': {
        get: {
          operationId: 'getFile',
          summary: 'One file',
          security,
          parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string', pattern: '^[0-9]+$' } }],
          responses: { '200': { description: 'The file.' } },
        },
      },
      '/up': {
        post: {
          operationId: 'upload',
          summary: 'Takes a file',
          security,
          requestBody: { content: { 'application/octet-stream': {} } },
          responses: { '200': { description: 'Taken.' } },
        },
      },
    },
  },
}
