/** Declares limits of an API that several nodes serve, and counts the answers to its calls. */

import { ledgerDocument } from './ledger-backend.ts'
import { enrol, publish, type Service } from './service.ts'
import type { SeveralNodes } from './several-nodes.ts'

const LIMITED_API = 'ledger-v1'
const LIMITED_PATH = '/ledger-v1/entries?n=1'
export const HOUR = 3_600_000

/** Publishes the document of the ledger under another title. */
export async function publishAs(service: Service, title: string, backendUrl: string): Promise<void> {
  const document = { ...ledgerDocument(), info: { title, version: '1.0.0', description: 'Entries, one at a time.' } }
  await publish(service, `${title.toLowerCase()}-v1`, document, backendUrl)
}

/** Declares one limit for all operations; the command answers when all nodes follow it. */
export async function declareLimit({ platform }: Service, limit: object, api = LIMITED_API): Promise<void> {
  const declaration = {
    opensla: '1.0.0',
    info: { title: 'Limits', version: '1.0.0' },
    limits: [{ name: 'all', ...limit }],
  }
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await platform.post('/v1/openslaspecs', { api, specification })
}

/** The calls of one caller, whose answers are counted by status. */
export class LimitedCaller {
  readonly counts: Record<number, number> = {}
  /** Answers with 503 that do not say what is unavailable, or when to come again. */
  readonly unclear: string[] = []
  readonly #apiKey: string
  readonly #path: string

  private constructor(apiKey: string, path: string) {
    this.#apiKey = apiKey
    this.#path = path
  }

  static async enrol(service: Service, name: string, api = LIMITED_API, path = LIMITED_PATH): Promise<LimitedCaller> {
    return new LimitedCaller((await enrol(service, api, { name })).apiKey, path)
  }

  get admitted(): number {
    return this.counts[200] ?? 0
  }

  async call({ gatewayUrl }: Service): Promise<number> {
    const response = await fetch(gatewayUrl + this.#path, { headers: { 'x-api-key': this.#apiKey } })
    const { status } = response
    const text = await response.text()
    this.counts[status] = (this.counts[status] ?? 0) + 1
    const isClear = text.includes('"limits_unavailable"') && Number(response.headers.get('retry-after')) >= 1
    if (status === 503 && !isClear) this.unclear.push(text)
    return status
  }

  /** Returns `Retry-After` of a call that is refused, in seconds; 0 if there is none. */
  async retryAfter({ gatewayUrl }: Service): Promise<number> {
    const response = await fetch(gatewayUrl + this.#path, { headers: { 'x-api-key': this.#apiKey } })
    await response.arrayBuffer()
    return Number(response.headers.get('retry-after'))
  }

  /** Calls all nodes at the same time, each of them `each` times, and returns the statuses that came. */
  async burst(nodes: readonly Service[], each: number): Promise<readonly number[]> {
    const calls = nodes.flatMap((node) => Array.from({ length: each }, () => this.call(node)))
    return [...new Set(await Promise.all(calls))].sort()
  }
}

/** Number of windows of `lengthMs` that the time since `fromMs` touches. */
export function windowsSince(fromMs: number, lengthMs: number): number {
  return Math.floor(Date.now() / lengthMs) - Math.floor(fromMs / lengthMs) + 1
}

export function nodeOf({ nodes }: SeveralNodes, turn: number): Service {
  return nodes[turn % nodes.length]!
}
