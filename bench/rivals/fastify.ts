/** fastify with http-proxy, jwt (verified tokens cached) and rate-limit, as one would assemble it. */

import { join } from 'node:path'
import type { Contestant } from '../contestant.ts'
import type { Workbench } from '../workbench.ts'
import { startNodeStack } from './node-stack.ts'

export function startFastify(workbench: Workbench): Promise<Contestant> {
  return startNodeStack(workbench, {
    name: 'fastify + http-proxy + jwt + rate-limit',
    script: join(import.meta.dirname, 'fastify-stack.mjs'),
  })
}
