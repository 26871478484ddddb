/** The life of an API: a document, its deployment, its next versions, and its retirement. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { fetchToken } from '../../src/interfaces/cli/platform-client.ts'
import { createService, enrol, type Service } from './service.ts'

const WAIT = { timeout: 30_000, interval: 20 }

let service: Service
let backend: Server
let backendUrl: string

beforeAll(async () => {
  backend = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[]}'),
  )
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  backendUrl = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  service = await createService({ args: ['--empty'] })
  await service.start()
})
afterAll(async () => {
  await service.remove()
  backend.closeAllConnections()
  backend.close()
})

interface Progress {
  readonly status: string
  readonly currentStep: number
  readonly steps: readonly { readonly status: string; readonly errors: readonly object[] }[]
}

function textOf(version: string, paths: readonly string[], limitMax = 100): string {
  const parameters = [{ name: 'limit', in: 'query', schema: { type: 'integer', maximum: limitMax } }]
  const responses = { 200: { description: 'Books.' }, default: { description: 'Not this time.' } }
  const text = {
    openapi: '3.1.0',
    info: { title: 'Books', version, description: 'Books and who reads them.', contact: { name: 'Library' } },
    servers: [{ url: 'https://books.example' }],
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
    paths: Object.fromEntries(
      paths.map((path) => {
        const get = { operationId: `list${path}`, summary: `Lists ${path}.`, parameters, responses }
        return [`/${path}`, { get }]
      }),
    ),
  }
  return JSON.stringify(text, null, 2)
}

function document(...args: Parameters<typeof textOf>): string {
  return Buffer.from(textOf(...args)).toString('base64')
}

/** Number of the first line with the text. */
function lineOf(text: string, part: string): number {
  return text.split('\n').findIndex((line) => line.includes(part)) + 1
}

const progressOf = (id: string): Promise<Progress> => service.platform.get(`/v1/programmes/${id}/progress`)

async function until(id: string, status: string): Promise<Progress> {
  return vi.waitFor(async () => {
    const progress = await progressOf(id)
    expect(progress.status).toBe(status)
    return progress
  }, WAIT)
}

async function send(method: 'POST' | 'PUT', path: string, body: object, token: string) {
  const answer = await request(service.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> }
}

const call = async (api: string, apiKey: string, path = 'books'): Promise<number> => {
  const { statusCode, body } = await request(`${service.gatewayUrl}/${api}/${path}`, {
    headers: { 'x-api-key': apiKey },
  })
  await body.dump()
  return statusCode
}

/** A caller other than the admin, with all scopes of the platform. */
async function colleague(): Promise<string> {
  const { id: consumer } = await service.platform.post<{ id: string }>('/v1/consumers', {
    name: 'Boss',
    kind: 'application',
  })
  const { id } = await service.platform.post<{ id: string }>('/v1/subscriptions', {
    consumer,
    api: 'platform-v1',
    securityTypes: ['OAuth2'],
    scopes: ['approvals:write', 'programmes:read'],
  })
  const { items } = await service.platform.get<{ items: readonly { clientId: string; clientSecret: string }[] }>(
    `/v1/subscriptions/${id}/credentials`,
  )
  const { clientId, clientSecret } = items[0]!
  return (await fetchToken({ gatewayUrl: service.gatewayUrl, api: 'platform-v1', clientId, clientSecret })).accessToken
}

it(
  'a programme goes from approval to a live call, to its next versions and to its end',
  { timeout: 180_000 },
  async () => {
    const approval = { minScore: 100, allowErrors: false, allowBreaking: false, exposures: [] }
    await service.platform.put('/v1/policy', { approval })
    const { id } = await service.platform.post<{ id: string }>('/v1/programmes', {
      name: 'Books',
      specification: document('1.0.0', ['books']),
      backend: { url: backendUrl },
    })
    expect(await until(id, 'waiting')).toMatchObject({ currentStep: 5 })

    // The number of readers of a programme is limited, and they do not delay a shutdown.
    const authorization = `Bearer ${await service.platform.token()}`
    const reading = Array.from({ length: 21 }, () =>
      fetch(`${service.baseUrl}/v1/programmes/${id}/progress`, {
        headers: { authorization, accept: 'text/event-stream' },
      }),
    )
    const answers = (await Promise.all(reading)).map(({ status }) => status)
    expect(answers.toSorted()).toEqual([...Array<number>(20).fill(200), 503])
    expect(await service.stop()).toBe(0)
    await service.start()

    // The process is killed while a decision is pending; the programme keeps its state.
    await service.kill()
    await service.start()
    const { approvalFlow } = await service.platform.get<{ approvalFlow: string }>(`/v1/programmes/${id}`)
    const path = `/v1/programmes/${id}/approvalFlows/${approvalFlow}/approvals`
    expect((await send('POST', path, { outcome: 'Approved' }, await service.platform.token())).status).toBe(403)
    const events = await follow(id)
    expect((await send('POST', path, { outcome: 'Approved' }, await colleague())).status).toBe(200)
    await until(id, 'succeeded')
    await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ status: 'succeeded' }), WAIT)
    const steps = events.map(({ currentStep }) => currentStep)
    expect(steps).toEqual(steps.toSorted())

    const reader = await enrol(service, 'books-v1')
    expect(await call('books-v1', reader.apiKey)).toBe(200)
    await vi.waitFor(async () => {
      const compliance = await service.platform.get<object>(`/v1/programmes/${id}/compliance`)
      expect(compliance).toMatchObject({ runtime: 100, history: [{ revision: 1 }] })
      expect(await service.platform.get<object>('/v1/apis/books-v1')).toMatchObject({
        programme: id,
        complianceScore: expect.any(Number) as number,
      })
    }, WAIT)

    await service.platform.put('/v1/policy', { approval: { ...approval, minScore: 50, exposures: ['Internal'] } })
    await service.platform.put(`/v1/programmes/${id}`, { specification: document('1.1.0', ['books', 'loans']) })
    // The process is killed during the programme, at any step.
    await service.kill()
    await service.start()
    await until(id, 'succeeded')
    expect(await call('books-v1', reader.apiKey, 'loans')).toBe(200)

    const put = async (specification: string) =>
      send('PUT', `/v1/programmes/${id}`, { specification }, await service.platform.token())
    const served = textOf('1.1.0', ['books', 'loans'])
    const narrower = textOf('1.2.0', ['books', 'loans'], 50)
    const breaking = await put(Buffer.from(narrower).toString('base64'))
    expect(breaking).toMatchObject({ status: 409, body: { code: 'breaking_change' } })
    expect(breaking.body['changes']).toMatchObject([
      {
        id: 'request.bound',
        level: 'breaking',
        pointer: '/paths/~1books/get/parameters/0/schema/maximum',
        line: lineOf(narrower, '"maximum": 50'),
        column: 15,
        previousLine: lineOf(served, '"maximum": 100'),
        previousColumn: 15,
        operations: ['GET /books'],
      },
      { id: 'request.bound', operations: ['GET /loans'] },
    ])
    // A change that only allows more is deployed within the major version.
    expect(await call('books-v1', reader.apiKey, 'books?limit=200')).toBe(400)
    expect((await put(document('1.2.0', ['books', 'loans'], 500))).status).toBe(202)
    await until(id, 'succeeded')
    expect(await call('books-v1', reader.apiKey, 'books?limit=200')).toBe(200)
    const { id: next } = await service.platform.post<{ id: string }>('/v1/programmes', {
      name: 'Books 2',
      specification: document('2.0.0', ['books', 'loans'], 50),
      backend: { url: backendUrl },
    })
    // The policy requires an approval for a major version with breaking changes.
    await until(next, 'waiting')
    const { approvalFlow: asked } = await service.platform.get<{ approvalFlow: string }>(`/v1/programmes/${next}`)
    expect((await service.platform.get<{ items: readonly object[] }>('/v1/approvals')).items).toMatchObject([
      { id: asked, reason: expect.stringMatching(/break callers of the previous major version: \d+\.$/) as string },
    ])
    const flow = `/v1/programmes/${next}/approvalFlows/${asked}/approvals`
    expect((await send('POST', flow, { outcome: 'Approved' }, await colleague())).status).toBe(200)
    await until(next, 'succeeded')
    const second = await enrol(service, 'books-v2')
    expect([await call('books-v2', second.apiKey, 'loans'), await call('books-v1', reader.apiKey)]).toEqual([200, 200])

    const retirementDate = new Date(Date.now() + 86_400_000).toISOString()
    await service.platform.post('/v1/apis/books-v1/deprecate', { retirementDate, successor: 'books-v2' })
    await service.platform.post('/v1/apis/books-v1/retire', { force: true })
    expect([await call('books-v1', reader.apiKey), await call('books-v2', second.apiKey, 'loans')]).toEqual([410, 200])
  },
)

/** Returns the progress events of the stream. */
async function follow(id: string): Promise<readonly Progress[]> {
  const events: Progress[] = []
  const response = await fetch(`${service.baseUrl}/v1/programmes/${id}/progress`, {
    headers: { authorization: `Bearer ${await service.platform.token()}`, accept: 'text/event-stream' },
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const read = async (): Promise<void> => {
    let text = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        if (data !== undefined) events.push(JSON.parse(data) as Progress)
      }
    }
  }
  void read()
  await vi.waitFor(() => expect(events.length).toBeGreaterThan(0), WAIT)
  return events
}
