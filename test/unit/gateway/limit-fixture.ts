/** A subscription at an API, with time and threads in the hands of a test. */

import { createLimiter, type Block, type CompiledSla, type Limiter } from '../../../src/gateway/limits/limiter.ts'
import { createLimitMemory, type LimitMemory } from '../../../src/gateway/limits/limit-memory.ts'
import { parseDeclaration } from '../../../src/opensla/declaration.ts'
import type { SlaPlan } from '../../../src/plan/sla-plan.ts'

export const OPERATIONS = ['read', 'write', 'list'] as const

export interface Desk {
  readonly limiter: Limiter
  readonly sla: CompiledSla
  readonly block: Block
  /** Whether the call is admitted; one that is refused says by what. */
  take(at: string | number, operation?: number): true | string
}

export function planOf(declaration: object): SlaPlan {
  const bytes = new TextEncoder().encode(JSON.stringify({ opensla: '1.0.0', ...declaration }))
  return parseDeclaration(bytes, { technicalName: 'library-v1', operationIds: [...OPERATIONS] })
}

export function openDesk(
  plan: SlaPlan,
  memory: LimitMemory = createLimitMemory({ threads: 1 }),
  { thread = 0, threads = 1, limiter = createLimiter({ thread, threads }) } = {},
): Desk {
  const sla = limiter.compile(plan, OPERATIONS)
  const ref = memory.blockFor('sub_1', plan)
  if (ref === null) throw new Error('there is no memory left')
  const block = limiter.open(ref)
  return {
    limiter,
    sla,
    block,
    take(at, operation = 0) {
      const refusedBy = limiter.take(sla, block, operation, typeof at === 'number' ? at : Date.parse(`${at}Z`))
      if (refusedBy === -1) return true
      return refusedBy === -2 ? 'quota' : (sla.limits[refusedBy]?.label ?? 'unknown')
    },
  }
}

/** A desk for one definition. */
export function openLimit(definition: object, more: object = {}): Desk {
  return openDesk(planOf({ limits: [{ name: 'a', ...definition }], ...more }))
}
