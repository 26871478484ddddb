/** fast-gateway with fast-jwt (verified tokens cached) and express-rate-limit, as a user would assemble it. */

import { join } from 'node:path'
import type { Contestant } from '../contestant.ts'
import type { Workbench } from '../workbench.ts'
import { startNodeStack } from './node-stack.ts'

export function startFastGateway(workbench: Workbench): Promise<Contestant> {
  return startNodeStack(workbench, {
    name: 'fast-gateway + fast-jwt + express-rate-limit',
    script: join(import.meta.dirname, 'fast-gateway-stack.mjs'),
    env: { PREFIX: '/bench-v1' },
  })
}
