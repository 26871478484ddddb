import { MessageChannel } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { createMainThreadLink } from '../../../../src/gateway/messages/main-thread-link.ts'
import type { ToMainThread } from '../../../../src/gateway/messages/messages.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

function open() {
  const clock = createFakeClock(119_000)
  const { port1: port } = new MessageChannel()
  const sent: ToMainThread[] = []
  port.postMessage = (message: ToMainThread) => void sent.push(message)
  const link = createMainThreadLink({ port, clock, spoolGrownFlag: new Int32Array(1) })
  return { link, clock, sent }
}

it('sends each credential that is used once a minute, whatever the number of its calls', async () => {
  const { link, clock, sent } = open()
  for (let call = 0; call < 100; call++) link.noteUse(`crd_${call % 2}`)
  expect(sent).toEqual([])
  await clock.advance(999)
  link.noteUse('crd_1')
  await clock.advance(1)
  link.noteUse('crd_1')
  link.noteUse('crd_2')
  link.close()
  expect(sent).toEqual([
    { type: 'used', minute: 1, credentials: ['crd_0', 'crd_1'] },
    { type: 'used', minute: 2, credentials: ['crd_1', 'crd_2'] },
  ])
})
