/** Asks the health path of a backend: any answer below 400 within five seconds is good. */

import { Agent, Pool } from 'undici'
import type { BackendPlan } from '../../plan/route-plan.ts'
import type { BackendConnect } from './backend-connect.ts'

export interface HealthProbe {
  ask(backend: BackendPlan): Promise<boolean>
  close(): Promise<void>
}

const WITHIN_MS = 5_000
const CONNECTIONS_MAX = 2
const HEADER_BYTES_MAX = 16_384

/** Connects under the same rule as calls do (`backend-connect.ts`). */
export function createHealthProbe(connect: BackendConnect): HealthProbe {
  // Two, because backends with the same origin may be under different rules.
  const agents = { open: createAgent(true), guarded: createAgent(false) }

  function createAgent(mayBePrivate: boolean): Agent {
    return new Agent({
      connections: CONNECTIONS_MAX,
      pipelining: 1,
      headersTimeout: WITHIN_MS,
      bodyTimeout: WITHIN_MS,
      keepAliveTimeout: 1_000,
      maxHeaderSize: HEADER_BYTES_MAX,
      factory: (origin, options) =>
        new Pool(origin, {
          ...options,
          connect: connect({ origin: String(origin), mayBePrivate }, { timeout: WITHIN_MS }),
        }),
    })
  }

  return {
    async ask({ origin, health, mayBePrivate }) {
      try {
        const { statusCode, body } = await agents[mayBePrivate ? 'open' : 'guarded'].request({
          origin,
          path: health ?? '/',
          method: 'GET',
          headers: { 'user-agent': 'tollgate-health' },
          signal: AbortSignal.timeout(WITHIN_MS),
        })
        // A body that is not read to its end emits an error when it is destroyed, which ends the process unheard.
        body.on('error', () => {}).destroy()
        return statusCode < 400
      } catch {
        return false
      }
    },
    close: async () => void (await Promise.all([agents.open.destroy(), agents.guarded.destroy()])),
  }
}
