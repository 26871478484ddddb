/** The handshake of a WebSocket goes to another target only if the one before received nothing. */

import { expect, it } from 'vitest'
import { openFailing, openRefusing } from '../../fixtures/target-backends.ts'
import { openWebSocketGateway } from '../../fixtures/websocket-gateway.ts'
import { openWebSocketBackend, TEXT } from '../../fixtures/websocket-peers.ts'

const targetsOf = (...origins: readonly string[]) => ({
  backend: { origin: origins[0]!, targets: origins.map((origin) => ({ origin, basePath: '' })) },
})

it('A WebSocket opens at another target if the first one refuses connections', async () => {
  const [refusing, backend] = [await openRefusing(), await openWebSocketBackend()]
  const gateway = await openWebSocketGateway({}, targetsOf(refusing.origin, backend.origin))
  const { head, peer } = await gateway.connect()
  expect(head).toContain('101 Switching Protocols')
  const other = await backend.connected()
  peer.send(TEXT, 'hello')
  expect((await other.next())?.payload.toString()).toBe('hello')
  expect(gateway.revision.backend!.backends.map(({ slots }) => slots.held)).toEqual([0, 1])
})

it.each(['garbage', 'reset'] as const)(
  'A WebSocket is opened nowhere else if the first target has received the handshake: %s',
  async (fault) => {
    const [failing, backend] = [await openFailing(fault), await openWebSocketBackend()]
    const gateway = await openWebSocketGateway({}, targetsOf(failing.origin, backend.origin))
    const { head } = await gateway.connect()
    expect(head).toMatch(/^HTTP\/1\.1 502 /)
    expect(failing.received).toHaveLength(1)
    expect(gateway.records).toMatchObject([{ outcome: 'upstream_broken' }])
  },
)

it('A WebSocket is not asked for twice at its only target', async () => {
  const failing = await openFailing('reset')
  const gateway = await openWebSocketGateway({}, { backend: { origin: failing.origin } })
  expect((await gateway.connect()).head).toMatch(/^HTTP\/1\.1 502 /)
  expect(failing.received).toHaveLength(1)
})
