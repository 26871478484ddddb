/** Asks the health path of a backend: any answer below 400 within five seconds is good. */

import { Agent } from 'undici'
import type { BackendPlan } from '../plans/route-plan.ts'

export interface HealthProbe {
  ask(backend: BackendPlan): Promise<boolean>
  close(): Promise<void>
}

const WITHIN_MS = 5_000
const CONNECTIONS_MAX = 2
const HEADER_BYTES_MAX = 16_384

export function createHealthProbe(): HealthProbe {
  const agent = new Agent({
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    connect: { timeout: WITHIN_MS },
    headersTimeout: WITHIN_MS,
    bodyTimeout: WITHIN_MS,
    keepAliveTimeout: 1_000,
    maxHeaderSize: HEADER_BYTES_MAX,
  })
  return {
    async ask({ origin, health }) {
      try {
        const { statusCode, body } = await agent.request({
          origin,
          path: health ?? '/',
          method: 'GET',
          headers: { 'user-agent': 'tollgate-health' },
          signal: AbortSignal.timeout(WITHIN_MS),
        })
        body.destroy()
        return statusCode < 400
      } catch {
        return false
      }
    },
    close: () => agent.destroy(),
  }
}
