/** The platform API of the service that a command is signed in to. */

import { explainProblem, type ApiClient } from '../session/api-client.ts'
import { parseJson, type HttpAnswer } from '../session/http.ts'
import { Refused, type Answer, type Platform } from './platform.ts'

const PAGE_ITEMS = 100
const PAGES_MAX = 10_000

interface Page {
  readonly items?: readonly Answer['body'][]
  readonly next?: string | null
}

export function createServicePlatform(api: ApiClient): Platform {
  async function request(method: string, path: string, body?: unknown, ifMatch?: string): Promise<HttpAnswer> {
    const answer = await api.send({
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
