/** Sends requests to the health path of a backend: a status below 400 within five seconds is good. */

import type { Agent } from 'undici'
import { loadUndici } from '../../foundation/outbound/load-undici.ts'
import type { BackendPlan, BackendTls } from '../../boundary/plan/route-plan.ts'
import type { BackendConnect } from './backend-connect.ts'
import { toTlsOptions } from './tls-identity.ts'

export interface HealthProbe {
  /** Returns whether the backend is healthy. Does not reject. */
  check(backend: BackendPlan): Promise<boolean>
  close(): Promise<void>
}

const TIMEOUT_MS = 5_000
const CONNECTIONS_MAX = 2
const HEADER_BYTES_MAX = 16_384

/** Guards its connections by the same rule as those of calls (`backend-connect.ts`). */
export function createHealthProbe(connect: BackendConnect): HealthProbe {
  // Two agents, because two backends with the same origin may have different rules.
  const agents = new Map<boolean, Agent>()

  function agentFor(mayBePrivate: boolean): Agent {
    const agent = agents.get(mayBePrivate) ?? createAgent(mayBePrivate)
    agents.set(mayBePrivate, agent)
    return agent
  }

  function createAgent(mayBePrivate: boolean, tls?: BackendTls): Agent {
    const { Agent, Pool } = loadUndici()
    const identity = toTlsOptions(tls)
    return new Agent({
      connections: CONNECTIONS_MAX,
      pipelining: 1,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      keepAliveTimeout: 1_000,
      maxHeaderSize: HEADER_BYTES_MAX,
      factory: (origin, options) =>
        new Pool(origin, {
          ...options,
          connect: connect({ origin: String(origin), mayBePrivate }, { timeout: TIMEOUT_MS, ...identity }),
        }),
    })
  }

  return {
    async check(backend) {
      const { mayBePrivate, tls } = backend
      if (tls === undefined) return probe(agentFor(mayBePrivate), backend)
      // Connections with an identity of their own serve one probe: probes are rarer than connections live.
      try {
        const own = createAgent(mayBePrivate, tls)
        const isOk = await probe(own, backend)
        void own.destroy()
        return isOk
      } catch {
        return false
      }
    },
    close: async () => void (await Promise.all([...agents.values()].map((agent) => agent.destroy()))),
  }
}

async function probe(agent: Agent, { origin, health }: BackendPlan): Promise<boolean> {
  try {
    const { statusCode, body } = await agent.request({
      origin,
      path: health ?? '/',
      method: 'GET',
      headers: { 'user-agent': 'tollgate-health' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    // Destroying a body before its end emits an error, which would end the process without a listener.
    body.on('error', () => {}).destroy()
    return statusCode < 400
  } catch {
    return false
  }
}
