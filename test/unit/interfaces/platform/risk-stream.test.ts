import { once } from 'node:events'
import { type AddressInfo, type Socket } from 'node:net'
import { EventSource, type FetchLike } from 'eventsource'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { NOW_MS, openTestPlatform, toGrant } from '../../../fixtures/test-platform.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'
import { endsOf, listen, read } from '../../../fixtures/risk-reader.ts'

const HOUR_MS = 3_600_000

const idsIn = (text: string): string[] => [...text.matchAll(/^id: (\S+)$/gm)].map(([, id]) => id ?? '')

describe('the risk stream', () => {
  it('sends events to a standard client, with RFC 3339 times and without the tenant', async () => {
    const { platform, url } = await listen()
    const token = platform.token('acme')
    const fetchWithToken: FetchLike = (address, init) =>
      fetch(address, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } })
    const source = new EventSource(url, { fetch: fetchWithToken })
    onTestFinished(() => source.close())
    await new Promise((resolve) => source.addEventListener('open', resolve, { once: true }))
    await vi.waitFor(() => expect(platform.risks.subscribers).toBe(1))
    const received = new Promise<MessageEvent>((resolve) => source.addEventListener('risk', resolve, { once: true }))
    const event = riskEvent()
    platform.risks.publish(event)

    const message = await received
    expect(message.lastEventId).toBe(event.id)
    const { tenant: _, firstSeenMs: __, lastSeenMs: ___, ...rest } = event
    const times = { firstSeen: '2027-01-15T11:59:55.000Z', lastSeen: '2027-01-15T12:00:00.000Z' }
    expect(JSON.parse(message.data as string)).toEqual({
      ...rest,
      ...times,
      evidence: { ...rest.evidence, channel: 'http' },
    })
  })

  it('opens at once, with a retry interval', async () => {
    const { platform, port } = await listen()
    const reader = read(port, platform.token('acme'))
    await reader.seen(/^HTTP\/1\.1 200 OK[^]*\r\n\r\n[^]*retry: 1000/)
    expect(reader.text()).toMatch(/content-type: text\/event-stream/i)
    expect(reader.text()).toMatch(/cache-control: no-store/i)
    expect(platform.calls).toMatchObject([{ operationId: 'subscribeToRisks', status: 200, code: 'served' }])
  })

  it('sends only events of the reader’s tenant that match its filters', async () => {
    const { platform, port } = await listen()
    const path = '/v1/events/subscribe?severity=Warning&category=Security&api=payments-v1'
    const all = read(port, platform.token('acme'))
    const some = read(port, platform.token('acme'), path)
    await vi.waitFor(() => expect(platform.risks.subscribers).toBe(2))
    const wanted = riskEvent({ category: 'Security', severity: 'Critical' })
    const others = [
      riskEvent({ category: 'Security', severity: 'Info' }),
      riskEvent({ category: 'Performance', severity: 'Critical' }),
      riskEvent({ category: 'Security', severity: 'Critical', api: 'other-v1' }),
    ]
    const foreign = riskEvent({ tenant: 'rival', category: 'Security', severity: 'Critical' })
    const last = riskEvent({ category: 'Security', severity: 'Warning' })
    for (const event of [foreign, ...others, wanted, last]) platform.risks.publish(event)

    await all.seen(last.id)
    await some.seen(last.id)
    expect(idsIn(some.text())).toEqual([wanted.id, last.id])
    expect(idsIn(all.text())).toEqual([...others, wanted, last].map(({ id }) => id))
    expect(all.text() + some.text()).not.toMatch('rival')
  })

  it('resumes after the last received event, for any number of missed events', async () => {
    const { platform, port } = await listen()
    const missed = Array.from({ length: 5_000 }, () => riskEvent({ message: 'm'.repeat(600) }))
    for (const event of missed) platform.risks.publish(event)
    platform.risks.publish(riskEvent({ tenant: 'rival' }))
    const reader = read(port, platform.token('acme'), undefined, `Last-Event-ID: ${missed[9]?.id}\r\n`)
    await vi.waitFor(() => expect(platform.risks.subscribers).toBe(1), { timeout: 10_000 })
    const live = riskEvent()
    platform.risks.publish(live)

    await reader.seen(live.id)
    expect(idsIn(reader.text())).toEqual([...missed.slice(10), live].map(({ id }) => id))
  })

  it.each(['evt_1', 'nonsense', 'evt_01m7xqt5n2e10b7m6zza79hete x', 'rsk_01m7xqt5n2e10b7m6zza79hete'])(
    'answers 400 for Last-Event-ID: %s',
    async (id) => {
      const platform = await openTestPlatform()
      const headers = { 'last-event-id': id }
      const answer = await platform.send('GET', '/v1/events/subscribe', { token: platform.token('acme'), headers })
      expect(answer).toMatchObject({ status: 400, body: { code: 'payload_invalid' } })
    },
  )

  it('ends if it cannot resume, so that its reader reconnects', async () => {
    const { platform, port } = await listen()
    platform.risks.broken = new Error('disk is gone')
    const reader = read(port, platform.token('acme'), undefined, `Last-Event-ID: ${riskEvent().id}\r\n`)
    await reader.ended
    expect(await endsOf(platform)).toMatch('reason="resume_failed"} 1')
    expect(reader.text()).not.toMatch('disk')
  })

  it('sends a comment every 15 s', async () => {
    const { platform, port } = await listen()
    const reader = read(port, platform.token('acme'))
    await reader.seen('retry')
    platform.clock.advanceSync(14_999)
    platform.clock.advanceSync(1)
    await reader.seen(': alive')
    expect(reader.text().match(/: alive/g)).toHaveLength(1)
    platform.clock.advanceSync(30_000)
    await vi.waitFor(() => expect(reader.text().match(/: alive/g)).toHaveLength(3))
  })

  it('ends when its token expires', async () => {
    const { platform, port } = await listen()
    const reader = read(port, platform.token('acme', undefined, NOW_MS + HOUR_MS))
    await reader.seen('retry')
    platform.clock.advanceSync(HOUR_MS)
    await reader.ended
    expect(await endsOf(platform)).toMatch('reason="token_expired"} 1')
    expect(platform.risks.subscribers).toBe(0)
  })

  it('ends within a heartbeat after its credential is revoked', async () => {
    const { platform, port } = await listen()
    const token = platform.token('acme')
    const reader = read(port, token)
    await reader.seen('retry')
    platform.callers.set(token, { code: 'credential_invalid', grant: null, detail: 'It was revoked.' })
    platform.clock.advanceSync(15_000)
    await reader.ended
    expect(await endsOf(platform)).toMatch('reason="credential_closed"} 1')
  })

  it('ends when its credential loses a scope of its token, and not when it loses another one', async () => {
    const { platform, port } = await listen()
    const reader = read(port, platform.token('acme', ['risks:read', 'usage:read']))
    await reader.seen('retry')
    const grant = { ...toGrant('acme'), scopes: ['risks:read', 'usage:read', 'apis:read'] }
    await platform.gateway.applyGrants([{ ...grant, scopes: ['risks:read', 'usage:read'] }])
    expect(platform.risks.subscribers).toBe(1)
    await platform.gateway.applyGrants([{ ...grant, scopes: ['usage:read', 'apis:read'] }])
    await reader.ended
    expect(await endsOf(platform)).toMatch('reason="credential_closed"} 1')
  })

  it('disconnects a reader that does not read, and no other', async () => {
    const { platform, port } = await listen()
    const slow = read(port, platform.token('acme'))
    const quick = read(port, platform.token('acme'))
    await slow.seen('retry')
    await quick.seen('retry')
    await vi.waitFor(() => expect(platform.risks.subscribers).toBe(2))
    slow.socket.pause()
    let sent = 0
    while (platform.risks.subscribers === 2 && sent < 2_000) {
      for (let batch = 0; batch < 10; batch++, sent++) platform.risks.publish(riskEvent({ message: 'm'.repeat(8_000) }))
      await new Promise((resolve) => setImmediate(resolve))
    }

    expect(platform.risks.subscribers).toBe(1)
    expect(await endsOf(platform)).toMatch('reason="reader_slow"} 1')
    const last = riskEvent()
    platform.risks.publish(last)
    await quick.seen(last.id)
    expect(idsIn(quick.text())).toHaveLength(sent + 1)
  })

  it('disconnects a reader that does not read missed events in time', async () => {
    const { platform, port } = await listen()
    const missed = Array.from({ length: 2_000 }, () => riskEvent({ message: 'm'.repeat(8_000) }))
    for (const event of missed) platform.risks.publish(event)
    const reader = read(port, platform.token('acme'), undefined, `Last-Event-ID: ${missed[0]?.id}\r\n`)
    reader.socket.pause()
    await vi.waitFor(async () => {
      platform.clock.advanceSync(10_000)
      expect(await endsOf(platform)).toMatch('reason="reader_slow"} 1')
    })
    expect(platform.risks.subscribers).toBe(0)
  })

  it('releases a reader that has disconnected', async () => {
    const { platform, port } = await listen()
    const pending = platform.clock.pending
    const reader = read(port, platform.token('acme'))
    await vi.waitFor(() => expect(platform.risks.subscribers).toBe(1))
    reader.socket.destroy()
    await vi.waitFor(() => expect(platform.risks.subscribers).toBe(0))
    await vi.waitFor(() => expect(platform.clock.pending).toBe(pending))
  })

  it('answers 503 above the limit per tenant and in total, and reuses released places', async () => {
    const { platform, port } = await listen({ readersOfTenantMax: 1, readersMax: 2 })
    const first = read(port, platform.token('acme'))
    await first.seen('200 OK')
    const second = await platform.send('GET', '/v1/events/subscribe', { token: platform.token('acme') })
    expect(second).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    await read(port, platform.token('rival')).seen('200 OK')
    expect((await platform.send('GET', '/v1/events/subscribe', { token: platform.token('third') })).status).toBe(503)

    first.socket.destroy()
    await vi.waitFor(() => expect(platform.risks.subscribers).toBe(1))
    await read(port, platform.token('acme')).seen('200 OK')
  })

  it('does not open if the call cannot be recorded, and does not count against the limit', async () => {
    const { platform, port } = await listen({ readersMax: 1 })
    const token = platform.token('acme')
    platform.refuseRecords = new Error('the disk is full')
    expect((await platform.send('GET', '/v1/events/subscribe', { token })).status).toBe(500)
    platform.refuseRecords = null
    await read(port, token).seen('200 OK')
  })

  it('releases the place of a reader that disconnects while its call is being recorded', async () => {
    const { platform, port } = await listen({ readersMax: 1 })
    const pending = platform.clock.pending
    const opened = once(platform.server.app.server, 'connection') as Promise<[Socket]>
    const { promise: recording, resolve: begun } = Promise.withResolvers<void>()
    const { promise: recorded, resolve: goOn } = Promise.withResolvers<void>()
    platform.beforeRecord = () => {
      begun()
      return recorded
    }
    const first = read(port, platform.token('acme'))
    const [connection] = await opened
    await recording
    first.socket.destroy()
    await vi.waitFor(() => expect(connection.destroyed).toBe(true))
    platform.beforeRecord = async () => {}
    goOn()
    await vi.waitFor(async () => expect(await endsOf(platform)).toMatch('reason="reader_gone"} 1'))

    expect(platform.clock.pending).toBe(pending)
    await read(port, platform.token('acme')).seen('200 OK')
  })

  it('disconnects a reader that does not read the end of its stream', async () => {
    const { platform, port } = await listen()
    const opened = once(platform.server.app.server, 'connection') as Promise<[Socket]>
    const reader = read(port, platform.token('acme', undefined, NOW_MS + HOUR_MS))
    const [connection] = await opened
    await reader.seen('retry')
    reader.socket.pause()
    // More than the kernel buffers, less than the limit of a slow reader.
    for (let sent = 0; sent < 2_000 && connection.writableLength < 100_000; sent++) {
      platform.risks.publish(riskEvent({ message: 'm'.repeat(8_000) }))
      await new Promise((resolve) => setImmediate(resolve))
    }
    platform.clock.advanceSync(HOUR_MS)
    expect(await endsOf(platform)).toMatch('reason="token_expired"} 1')
    expect(connection.destroyed).toBe(false)
    platform.clock.advanceSync(2_000)
    await vi.waitFor(() => expect(connection.destroyed).toBe(true))
  })

  it('ends when the service stops', async () => {
    const { platform, port } = await listen()
    const reader = read(port, platform.token('acme'))
    await reader.seen('retry')
    await platform.server.close()
    await reader.ended
    expect(await endsOf(platform)).toMatch('reason="service_stopping"} 1')
  })

  it('can be served on a separate port, which serves nothing else', async () => {
    const platform = await openTestPlatform()
    const app = platform.server.createRiskApp()
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    const reader = read(port, platform.token('acme'))
    await vi.waitFor(() => expect(platform.risks.subscribers).toBe(1))
    const event = riskEvent()
    platform.risks.publish(event)
    await reader.seen(event.id)
    expect((await app.inject({ url: '/v1/consumers' })).statusCode).toBe(404)
    expect((await app.inject({ url: '/v1/risks' })).statusCode).toBe(401)
  })
})
