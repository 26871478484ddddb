/** People try calls through the gateway, with the keyboard alone as well, and attackers try more than that. */

// @module-tag chromium

import { connect } from 'node:net'
import { request } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import { OWN_ADDRESS } from '../fixtures/own-address.ts'
import { activate, enterText, goTo, tabTo } from './console-keyboard.ts'
import { useConsole } from './console-stage.ts'
import type { SignedIn } from './console-visit.ts'
import { ledgerDocument, type LedgerBackend } from './ledger-backend.ts'
import { enrol, type Service } from './service.ts'

const CALL = { api: 'ledger-v1', method: 'GET', path: '/entries', query: [], headers: [], body: null }
let service: Service
let backend: LedgerBackend

const { signIn } = useConsole({ env: { REQUEST_LOG: 'all' } }, (stage) => {
  ;({ service, backend } = stage)
})

async function cookieOf({ context }: Pick<SignedIn, 'context'>): Promise<string> {
  const [session] = (await context.cookies()).filter(({ name }) => name === 'tollgate-console')
  return `tollgate-console=${session!.value}`
}

async function send(cookie: string, change: object, more: Readonly<Record<string, string>> = {}) {
  const headers = { 'tollgate-console': '1', 'content-type': 'application/json', cookie, ...more }
  const body = JSON.stringify({ ...CALL, ...change })
  const answer = await request(`${service.baseUrl}/console/try`, { method: 'POST', headers, body })
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> }
}

/** Sends bytes to the platform, and returns the status of the first answer. */
async function sendRaw(text: string): Promise<number> {
  const { hostname, port } = new URL(service.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.write(text)
  let received = ''
  // Leaving the loop destroys the connection, which the service may keep open.
  for await (const chunk of socket) {
    received += String(chunk)
    if (received.includes('\r\n\r\n')) break
  }
  return Number(received.split(' ', 2)[1])
}

describe('a person', () => {
  it('goes from the first API to the first call with the keyboard alone', async () => {
    const { page, errors } = await signIn('owner')
    await goTo(page, 'a')
    await page.getByRole('link', { name: 'Publish an API' }).waitFor()
    await activate(page, 'Publish an API')
    await page.getByRole('textbox', { name: 'OpenAPI document' }).waitFor()
    await tabTo(page, 'OpenAPI document')
    await page.keyboard.insertText(JSON.stringify({ ...ledgerDocument(), info: { title: 'Shop', version: '1.0.0' } }))
    await page.getByRole('button', { name: 'Publish API', disabled: false }).waitFor()
    await enterText(page, 'Backend URL', backend.url)
    await page.keyboard.press('Enter')
    await page.getByText('The API serves. Make the first call now.').waitFor()
    await activate(page, /^Try it here/)
    await page.getByRole('navigation', { name: 'Operations' }).waitFor()
    await activate(page, /\/entries/)
    await page.getByLabel('n (in the query)').waitFor()
    await enterText(page, /^n \(in the query\)/, 'by keyboard')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Subscribe and send call' }).waitFor()
    await activate(page, 'Subscribe and send call')
    await page.getByRole('heading', { name: 'Status 200' }).waitFor()
    expect(backend.seen.get('by keyboard')).toBe(1)
    expect(errors).toEqual([])
  })
})

describe('a call that a person tries', () => {
  beforeAll(async () => {
    const { items } = await service.platform.get<{ items: { id: string; name: string }[] }>('/v1/consumers')
    const own = items.find(({ name }) => name === 'People of the tenant')
    await service.platform.post('/v1/subscriptions', { consumer: own!.id, api: 'ledger-v1' })
  })
  it('is metered for the person, and neither the session nor the token reaches the backend', async () => {
    const visit = await signIn('owner')
    const cookie = await cookieOf(visit)
    const headers = [['x-shop', 'Berlin']]
    const { status, body } = await send(cookie, { headers, query: [['n', 'tried']] })
    expect([status, body['status'], body['kind']]).toEqual([200, 200, 'answer'])
    const received = JSON.stringify(backend.last())
    expect(received).toContain('"x-shop":"Berlin"')
    expect(received).not.toContain(cookie.split('=')[1])
    expect(received).not.toMatch(/eyJ|cookie|tollgate-console/)
    expect(backend.last()).toMatchObject({ 'x-on-behalf-of': visit.id })
    expect(JSON.stringify(body)).not.toMatch(/eyJ/)
    // A call is stored some seconds after it has ended.
    const stored = () => service.platform.get(`/v1/requests/${String(body['requestId'])}`).catch(() => null)
    await expect.poll(stored, { timeout: 20_000, interval: 500 }).toMatchObject({ api: 'ledger-v1', status: 200 })

    expect((await send(cookie, { path: '/../platform-v1/v1/me' })).status).toBe(400)
    expect((await send(cookie, { headers: [['authorization', 'Bearer x']] })).status).toBe(400)
    expect((await send(cookie, { api: 'platform-v1' })).status).toBe(404)
    expect((await send(cookie, { path: '/nowhere' })).body).toMatchObject({ kind: 'answer', status: 404 })
    await visit.page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await visit.page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect((await send(cookie, {})).status).toBe(401)
  })

  it('ends with the access of the person, and with the subscription', async () => {
    const visit = await signIn('owner')
    const cookie = await cookieOf(visit)
    expect((await send(cookie, {})).body).toMatchObject({ status: 200 })
    const { items } = await service.platform.get<{ items: { id: string }[] }>(
      '/v1/subscriptions?ApiId=ledger-v1&state=Active',
    )
    for (const { id } of items) await service.platform.post(`/v1/subscriptions/${id}/suspend`)
    expect((await send(cookie, {})).body).toMatchObject({ kind: 'unsubscribed' })
    for (const { id } of items) await service.platform.post(`/v1/subscriptions/${id}/resume`)
    expect((await send(cookie, {})).body).toMatchObject({ status: 200 })
    await service.platform.post(`/v1/users/${visit.id}/disable`)
    expect((await send(cookie, {})).status).toBe(401)
  })

  it('is made for a consumer of the person, and for nobody else', async () => {
    const mine = await enrol(service, 'ledger-v1', { name: 'Mine' })
    const { consumer: other } = await enrol(service, 'ledger-v1', { name: 'Other' })
    await service.platform.post('/v1/subscriptions', {
      consumer: mine.consumer,
      api: 'platform-v1',
      scopes: ['me:read', 'apis:read:own'],
    })
    const cookie = await cookieOf(await signIn({ role: 'consumer', consumers: [mine.consumer] }))
    expect((await send(cookie, { headers: [['x-consumer-id', other]] })).status).toBe(400)
    expect((await send(cookie, {})).body).toMatchObject({ status: 200 })
    expect(backend.last()).toMatchObject({ 'x-consumer-id': mine.consumer, 'x-subscription-id': mine.subscription })
    expect((await send(cookie, {}, { 'x-consumer-id': other })).status).toBe(403)
    expect((await send(cookie, {}, { 'x-consumer-id': mine.consumer })).body).toMatchObject({ status: 200 })
    await service.platform.post(`/v1/subscriptions/${mine.subscription}/cancel`)
    expect((await send(cookie, {})).body).toEqual({ kind: 'unsubscribed', consumers: [mine.consumer] })
  })

  it('uses the subscription of the consumer that the person has chosen', async () => {
    const first = await enrol(service, 'ledger-v1', { name: 'First' })
    const second = await enrol(service, 'ledger-v1', { name: 'Second' })
    const role = { role: 'consumer', consumers: [first.consumer, second.consumer] }
    const cookie = await cookieOf(await signIn(role))
    for (const { consumer, subscription } of [second, first]) {
      expect((await send(cookie, {}, { 'x-consumer-id': consumer })).body).toMatchObject({ status: 200 })
      expect(backend.last()).toMatchObject({ 'x-consumer-id': consumer, 'x-subscription-id': subscription })
    }
    await service.platform.post(`/v1/subscriptions/${second.subscription}/suspend`)
    const refused = { kind: 'unsubscribed', consumers: [second.consumer] }
    expect((await send(cookie, {}, { 'x-consumer-id': second.consumer })).body).toEqual(refused)
    expect((await send(cookie, {})).body).toMatchObject({ status: 200 })
    expect(backend.last()).toMatchObject({ 'x-subscription-id': first.subscription })
  })

  it('comes from a page of the console, by one path and in one form', async () => {
    const cookie = await cookieOf(await signIn('owner'))
    const body = JSON.stringify(CALL)
    const head = (target: string, ...lines: readonly string[]) =>
      [`POST ${target} HTTP/1.1`, `Host: ${OWN_ADDRESS}`, 'Connection: close', ...lines, '', ''].join('\r\n')
    const own = [`Cookie: ${cookie}`, 'tollgate-console: 1', 'Content-Type: application/json']
    const framed = [...own, `Content-Length: ${body.length}`]
    expect(await sendRaw(head('/console/try', ...framed) + body)).toBe(200)
    const before = sumOfSeen()
    const attacks: readonly (readonly [number, string])[] = [
      [404, head('/console/try/', ...framed) + body],
      [404, head('/console//try', ...framed) + body],
      [404, head('/CONSOLE/try', ...framed) + body],
      [404, head('/console/api/../try', ...framed) + body],
      [404, head('/console/api/console/try', ...framed) + body],
      [403, head('/console/try', ...framed, 'Sec-Fetch-Site: cross-site') + body],
      [403, head('/console/try', ...framed.filter((line) => line !== 'tollgate-console: 1')) + body],
      [401, head('/console/try', ...framed, `Cookie: tollgate-console=x`) + body],
      [400, head('/console/try', ...framed, 'Content-Length: 1') + body],
      [400, head('/console/try', ...framed, 'Transfer-Encoding: chunked') + `0\r\n\r\n`],
      [400, head('/console/try', ...own, 'Content-Length: 2') + '{}'],
      [415, head('/console/try', ...framed.map((line) => line.replace('application/json', 'text/plain'))) + body],
    ]
    for (const [status, text] of attacks) {
      const answered = await sendRaw(text)
      expect({ text, answered }).toEqual({ text, answered: status })
    }
    expect(sumOfSeen()).toBe(before)
  })
})

function sumOfSeen(): number {
  return [...backend.seen.values()].reduce((sum, each) => sum + each, 0)
}
