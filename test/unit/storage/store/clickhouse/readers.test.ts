import { describe, expect, it } from 'vitest'
import { createReaders } from '../../../../../src/storage/store/clickhouse/readers.ts'

const STATEMENT = { query: 'SELECT 1', params: {} }

/** Connections whose reads end on demand, in the order in which they began. */
function openConnections(count: number) {
  const running: { connection: number; end: (error?: Error) => void }[] = []
  const connections = Array.from({ length: count }, (_, connection) => ({
    query: () =>
      new Promise((resolve, reject) =>
        running.push({
          connection,
          end: (error) => (error === undefined ? resolve({ json: async () => [{ connection }] }) : reject(error)),
        }),
      ),
  }))
  return { running, readers: createReaders(connections as never) }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('readers', () => {
  it('run one read of a tenant at a time, beside those of others', async () => {
    const { running, readers } = openConnections(2)
    const first = readers.read('a', STATEMENT)
    const second = readers.read('a', STATEMENT)
    const other = readers.read('b', STATEMENT)
    await settled()
    expect(running).toHaveLength(2)
    running[1]!.end()
    await other
    expect(running).toHaveLength(2)
    running[0]!.end()
    await first
    await settled()
    running[2]!.end()
    expect(await second).toEqual([{ connection: running[2]!.connection }])
  })

  it('use a connection for one read at a time, and release it after a failure', async () => {
    const { running, readers } = openConnections(1)
    const first = readers.read('a', STATEMENT)
    const second = readers.read('b', STATEMENT)
    const third = readers.read('a', STATEMENT)
    await settled()
    expect(running).toHaveLength(1)
    running[0]!.end(new Error('broken'))
    await expect(first).rejects.toMatchObject({ code: 'unavailable', message: 'Usage cannot be read at the moment.' })
    await settled()
    expect(running).toHaveLength(2)
    running[1]!.end()
    await second
    await settled()
    running[2]!.end()
    await third
  })

  it.each([true, false])('yield the processor to calls only in this process (embedded: %s)', async (isEmbedded) => {
    const queries: string[] = []
    const query = async (options: { query: string }) => {
      queries.push(options.query)
      return { json: async () => [] }
    }
    await createReaders([{ isEmbedded, query } as never]).read('a', { ...STATEMENT, settings: ', more = 1' })
    expect(queries).toHaveLength(1)
    expect(queries[0]).toMatch(/^SELECT 1 SETTINGS max_execution_time = 15, max_memory_usage = \d+.*, more = 1$/)
    expect(queries[0]!.includes('os_threads_nice_value_query')).toBe(isEmbedded)
  })

  it('say what to change if an answer is too large', async () => {
    const { running, readers } = openConnections(1)
    const read = readers.read('a', STATEMENT)
    await settled()
    running[0]!.end(new Error('Code: 159. DB::Exception: Timeout exceeded. (TIMEOUT_EXCEEDED)'))
    await expect(read).rejects.toMatchObject({ code: 'unavailable', message: expect.stringMatching(/shorter range/) })
  })

  it('refuse reads of a consumer of which too many wait, and take turns with the others', async () => {
    const { running, readers } = openConnections(1)
    const own = { ...STATEMENT, consumer: 'con_1' }
    const order: string[] = []
    const reads = Array.from({ length: 18 }, async (_, index) => {
      await readers.read('a', own)
      order.push(`own ${index}`)
    })
    const settling = Promise.allSettled(reads)
    await expect(reads.at(-1)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/too many/),
    })
    const whole = readers.read('a', STATEMENT).then(() => order.push('whole tenant'))
    await settled()
    for (let ended = 0; ended < running.length; ended++) {
      running[ended]!.end()
      await settled()
    }
    await whole
    expect((await settling).filter(({ status }) => status === 'rejected')).toHaveLength(1)
    expect(order.slice(0, 4)).toEqual(['own 0', 'own 1', 'whole tenant', 'own 2'])
    const again = readers.read('a', own)
    await settled()
    running.at(-1)!.end()
    await again
  })

  it('refuse a tenant of which too many reads wait', async () => {
    const { running, readers } = openConnections(1)
    const read = (index: number) => readers.read('a', { ...STATEMENT, consumer: `con_${index}` })
    const settling = Promise.allSettled(Array.from({ length: 258 }, (_, index) => read(index)))
    const other = readers.read('b', STATEMENT)
    await settled()
    for (let ended = 0; ended < running.length; ended++) {
      running[ended]!.end()
      await settled()
    }
    await other
    expect((await settling).filter(({ status }) => status === 'rejected')).toHaveLength(1)
  })
})
