/** A service that stops waits once for a ClickHouse server that does not answer, and not in each of its parts. */

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { createFlushLog } from '../../../src/storage/store/clickhouse/flush-log.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createReaders } from '../../../src/storage/store/clickhouse/readers.ts'
import { giveUpIfSilent } from '../../../src/storage/store/clickhouse/silent-server.ts'
import { createClickHouseServer, type ClickHouseServer } from '../../fixtures/clickhouse-server.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'
import { openBehindProxy } from '../../fixtures/faulty-proxy.ts'

let server: ClickHouseServer
beforeAll(async () => {
  server = await createClickHouseServer()
  const client = openClickHouse({ url: server.url, folder: '' })
  await migrate(client)
  await client.close()
})
afterAll(() => server.remove())

function open(url: string): ClickHouse {
  const client = openClickHouse({ url, folder: '' })
  onTestFinished(() => client.close())
  return client
}

/** Moves the clock until a question, which is asked a second after an answer, is left unanswered for five seconds. */
async function waitInVain(clock: ReturnType<typeof createFakeClock>): Promise<void> {
  const next = async () => {
    await clock.advance(1_000)
    return clock.pending
  }
  await expect.poll(next).toBe(0)
}

describe('a ClickHouse server that does not answer a service that stops', () => {
  it('is given up by all clients: what they ask fails, and what they ask later', async () => {
    const { proxy, url } = await openBehindProxy(server.url)
    const clock = createFakeClock(Date.now())
    const [writer, reader] = [open(url), open(url)] as const
    onTestFinished(giveUpIfSilent([writer, reader], clock))
    const log = createFlushLog({
      client: writer,
      isEmbedded: false,
      instance: () => 'a',
      nowMs: clock.nowMs,
      registryEnd: async () => 0,
    })
    const position = { 'gateway-0': { segment: 1, offset: 0 } }
    const heldFlush = () => log.held({ number: 1, from: position, to: position, tokens: 'range' }, 0)
    const readOne = () => createReaders([reader]).read('acme', { query: 'SELECT 1 AS one', params: {} })
    expect([await heldFlush(), await readOne()]).toEqual([null, [{ one: 1 }]])

    proxy.judge(() => 'hold')
    const asked = [heldFlush(), readOne()].map((each) => each.then(String, () => 'failed'))
    await waitInVain(clock)
    expect(await Promise.all(asked)).toEqual(['failed', 'failed'])

    proxy.judge(null)
    await expect(heldFlush()).rejects.toThrow('the ClickHouse server did not answer')
    await expect(readOne()).rejects.toThrow('cannot be read')
  })

  it('is not given up while it answers, also by refusals, until it is asked no more', async () => {
    const { proxy, url } = await openBehindProxy(server.url)
    const clock = createFakeClock(Date.now())
    const client = open(url)
    const end = giveUpIfSilent([client], clock)
    for (let refusals = 0; refusals < 3; refusals++) {
      await server.fault({ statement: 'SELECT 1', kind: 'unavailable' })
      const next = async () => {
        await clock.advance(100)
        return server.waitingFaults()
      }
      await expect.poll(next, { interval: 20 }).toBe(0)
    }
    end()
    proxy.judge(() => 'hold')
    await clock.advance(60_000)
    expect(clock.pending).toBe(0)
    proxy.judge(null)
    expect(await (await client.query({ query: 'SELECT 2 AS two', format: 'JSONEachRow' })).json()).toEqual([{ two: 2 }])
  })
})
