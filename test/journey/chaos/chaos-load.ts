/** Callers that call all nodes for as long as the run lasts, and the history of their calls. */

import type { Random } from '../../random.ts'
import type { HistoryCall } from '../../simulation/history-checker.ts'
import type { ChaosBackend } from './chaos-backend.ts'
import type { ChaosNode } from './chaos-cluster.ts'

export interface ChaosCaller {
  readonly name: string
  readonly api: string
  readonly apiKey: string
  /** Presented instead of the key. */
  readonly token?: string
}

export interface ChaosLoad {
  /** Calls each node by `workers` loops. Returns a function that ends them. */
  start(caller: ChaosCaller, workers: number): () => Promise<void>
  /** Resolves when `calls` more calls have ended, in whatever way. */
  after(calls: number): Promise<void>
  /** Calls that reached the backend or got no whole response; the others are in `refusals`. */
  historyOf(caller: string): readonly HistoryCall[]
  /** How often each caller got each status; 0 stands for no whole response. */
  readonly statuses: Map<string, number>
  stop(): Promise<void>
}

interface Sent extends Omit<HistoryCall, 'arrivedMs' | 'leftMs'> {
  readonly n: string
}

const PAUSE_MS_MAX = 60
const GIVE_UP_MS = 20_000

/** Numbers the calls of all loads, because several may have one backend. */
let calls = 0

export function startChaosLoad(nodes: readonly ChaosNode[], backend: ChaosBackend, random: Random): ChaosLoad {
  const sent: Sent[] = []
  const statuses = new Map<string, number>()
  const waiting: { left: number; resolve: () => void }[] = []
  const ends: (() => Promise<void>)[] = []

  function finish(call: Sent): void {
    const key = `${call.caller} ${call.status ?? 0}`
    statuses.set(key, (statuses.get(key) ?? 0) + 1)
    if (backend.arrivals.has(call.n) || call.status === null) sent.push(call)
    for (const each of waiting) each.left--
    for (const each of waiting.filter(({ left }) => left <= 0)) {
      waiting.splice(waiting.indexOf(each), 1)
      each.resolve()
    }
  }

  async function callOnce({ name: caller, api, apiKey, token }: ChaosCaller, node: ChaosNode): Promise<void> {
    const n = String(++calls)
    const sentMs = Date.now()
    let status: number | null = null
    let answer: string | null = null
    try {
      const response = await fetch(`${node.service.gatewayUrl}/${api}/entries?n=${n}`, {
        headers: token === undefined ? { 'x-api-key': apiKey } : { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(GIVE_UP_MS),
      })
      const body = (await response.json()) as { answer?: string }
      status = response.status
      answer = body.answer ?? null
    } catch {
      // The node was killed, or is not up; the backend knows whether the call was admitted.
    }
    finish({ caller, node: node.name, n, sentMs, status, answer })
    if (status === null) await node.whenUp()
  }

  async function loop(caller: ChaosCaller, node: ChaosNode, isEnded: () => boolean): Promise<void> {
    await node.whenUp()
    while (!isEnded()) {
      await callOnce(caller, node)
      await new Promise((resolve) => setTimeout(resolve, random.below(PAUSE_MS_MAX)))
    }
  }

  return {
    start(caller, workers) {
      let isEnded = false
      const loops = nodes.flatMap((node) => Array.from({ length: workers }, () => loop(caller, node, () => isEnded)))
      const end = async (): Promise<void> => {
        isEnded = true
        await Promise.all(loops)
      }
      ends.push(end)
      return end
    },
    after: (left) => new Promise((resolve) => void waiting.push({ left, resolve })),
    historyOf: (name) =>
      sent
        .filter(({ caller }) => caller === name)
        .map((call) => {
          const arrival = backend.arrivals.get(call.n)
          return { ...call, arrivedMs: arrival?.atMs ?? null, leftMs: arrival?.leftMs ?? null }
        }),
    statuses,
    async stop() {
      await Promise.all(ends.map((end) => end()))
    },
  }
}
