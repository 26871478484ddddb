/**
 * The platform API of the service that a command is signed in to.
 *
 * A large folder takes more calls than the service admits in a minute: a call that a limit refuses is repeated when it opens.
 */

import { explainProblem, type ApiCall, type ApiClient } from '../session/api-client.ts'
import { parseJson, type HttpAnswer } from '../session/http.ts'
import { Refused, type Answer, type Platform } from './platform.ts'

const PAGE_ITEMS = 100
const PAGES_MAX = 10_000

interface Page {
  readonly items?: readonly Answer['body'][]
  readonly next?: string | null
}

const RATE_LIMITED = 429
/** A quota opens much later than a rate: that is no reason to wait. */
const WAIT_SECONDS_MAX = 60
const WAITS_MAX = 100

export interface ServicePlatformOptions {
  readonly api: Pick<ApiClient, 'send'>
  /** Resolves after that time. */
  readonly pause: (ms: number) => Promise<unknown>
  /** Called before the first pause. */
  readonly onLimited: () => void
}

export function createServicePlatform({ api, pause, onLimited }: ServicePlatformOptions): Platform {
  let wasLimited = false

  async function sendAdmitted(call: ApiCall): Promise<HttpAnswer> {
    for (let waits = 0; ; waits++) {
      const answer = await api.send(call)
      const seconds = answer.status === RATE_LIMITED ? Number(answer.headers.get('retry-after') ?? Infinity) : Infinity
      if (!(seconds <= WAIT_SECONDS_MAX) || waits === WAITS_MAX) return answer
      if (!wasLimited) onLimited()
      wasLimited = true
      await pause(Math.max(0, seconds) * 1_000)
    }
  }

  async function request(method: string, path: string, body?: unknown, ifMatch?: string): Promise<HttpAnswer> {
    const answer = await sendAdmitted({
      method,
      path,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(ifMatch !== undefined && ifMatch !== '' && { headers: { 'if-match': ifMatch } }),
    })
    if (answer.status >= 300) throw new Refused(answer.status, explainProblem(answer))
    return answer
  }

  async function send(method: string, path: string, body?: unknown, ifMatch?: string): Promise<Answer> {
    const answer = await request(method, path, body, ifMatch)
    const value = answer.body.length === 0 ? {} : parseJson(answer)
    return { body: (value ?? {}) as Answer['body'], tag: answer.headers.get('etag') ?? '' }
  }

  return {
    send,
    get: (path) => send('GET', path),
    text: async (path) => (await request('GET', path)).body.toString('utf8'),
    async list(path) {
      const items: Answer['body'][] = []
      let cursor = ''
      for (let page = 0; page < PAGES_MAX; page++) {
        const query = `${path.includes('?') ? '&' : '?'}limit=${PAGE_ITEMS}${cursor}`
        const { body } = await send('GET', `${path}${query}`)
        const { items: more = [], next = null } = body as Page
        items.push(...more)
        if (next === null) break
        cursor = `&cursor=${encodeURIComponent(next)}`
      }
      return items
    },
  }
}
