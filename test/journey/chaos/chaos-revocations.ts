/** Takes callers their access in every way that there is, at random nodes, while they call all nodes. */

import type { Random } from '../../random.ts'
import { checkRevoked } from '../../simulation/history-checker.ts'
import { enrol, type Enrolled, type Service } from '../service.ts'
import type { ChaosCluster } from './chaos-cluster.ts'
import type { ChaosLoad } from './chaos-load.ts'

interface Revocation {
  readonly caller: string
  readonly answeredMs: number
}

export interface ChaosRevocations {
  /** Commands whose answers name no pending node. */
  readonly answered: readonly Revocation[]
  /** Enrols a caller, lets it call, takes its access, and lets it call on. */
  run(): Promise<void>
  /** Returns a sentence for each call that was admitted after an answer. */
  check(): readonly string[]
}

export interface RevocationParts {
  readonly cluster: Pick<ChaosCluster, 'nodes'>
  readonly load: ChaosLoad
  readonly random: Random
  readonly api: string
}

type Send = (service: Service, path: string, method?: 'POST' | 'DELETE') => Promise<Response>

interface Way {
  readonly what: string
  /** Whether the caller presents a token instead of its key. */
  readonly usesToken: boolean
  revoke(service: Service, enrolled: Enrolled, token: string, send: Send, api: string): Promise<Response>
}

const WAYS: readonly Way[] = [
  {
    what: 'suspended',
    usesToken: false,
    revoke: (service, { subscription }, _, send) => send(service, `/v1/subscriptions/${subscription}/suspend`),
  },
  {
    what: 'disabled',
    usesToken: true,
    revoke: (service, { consumer }, _, send) => send(service, `/v1/consumers/${consumer}/disable`),
  },
  {
    what: 'without credential',
    usesToken: false,
    async revoke(service, { subscription }, _, send) {
      const path = `/v1/subscriptions/${subscription}/credentials`
      const { items } = await service.platform.get<{ items: readonly { id: string; type: string }[] }>(path)
      return send(service, `${path}/${items.find(({ type }) => type === 'ApiKey')?.id}`, 'DELETE')
    },
  },
  {
    what: 'without token',
    usesToken: true,
    revoke: ({ gatewayUrl }, { clientId, clientSecret }, token, _, api) => {
      const body = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })
      return fetch(`${gatewayUrl}/${api}/oauth2/v2/revoke`, { method: 'POST', body })
    },
  },
]
const CALLS_BEFORE = 15
const CALLS_AFTER = 50

export function createChaosRevocations({ cluster, load, random, api }: RevocationParts): ChaosRevocations {
  const answered: Revocation[] = []
  let made = 0
  const pick = (): Service => cluster.nodes[random.below(cluster.nodes.length)]!.service

  /** Returns when the command was answered; null if it failed, or its answer names nodes that do not follow it yet. */
  async function revoke(way: Way, enrolled: Enrolled, token: string): Promise<number | null> {
    try {
      const response = await way.revoke(pick(), enrolled, token, send, api)
      await response.arrayBuffer()
      return response.ok && !response.headers.has('tollgate-pending-nodes') ? Date.now() : null
    } catch {
      return null
    }
  }

  return {
    answered,
    async run() {
      const way = WAYS[++made % WAYS.length]!
      const name = `${way.what} ${made}`
      const enrolled = await enrol(pick(), api, { name }).catch(() => null)
      const token = (way.usesToken && (await enrolled?.token().catch(() => null))) || null
      if (enrolled === null || (way.usesToken && token === null)) return
      const end = load.start({ name, api, apiKey: enrolled.apiKey, ...(token !== null && { token }) }, 1)
      await load.after(CALLS_BEFORE)
      const answeredMs = await revoke(way, enrolled, token ?? '')
      if (answeredMs !== null) answered.push({ caller: name, answeredMs })
      await load.after(CALLS_AFTER)
      await end()
    },
    check: () =>
      answered.flatMap(({ caller, answeredMs }) =>
        checkRevoked(load.historyOf(caller), answeredMs).map((text) => `${caller}: ${text}`),
      ),
  }
}

async function send(service: Service, path: string, method: 'POST' | 'DELETE' = 'POST'): Promise<Response> {
  const authorization = `Bearer ${await service.platform.token()}`
  return fetch(service.baseUrl + path, { method, headers: { authorization } })
}
