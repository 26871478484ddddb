import { describe, expect, it } from 'vitest'
import type { StoredRevision } from '../../../../src/gateway/messages/messages.ts'
import { sendInBatches } from '../../../../src/gateway/threads/revision-batches.ts'

const revisionOf = (api: string, bytes: number): StoredRevision =>
  ({ plan: { api, document: new Uint8Array(bytes) }, slas: [] }) as unknown as StoredRevision
const revisions = (count: number, bytes: number): StoredRevision[] =>
  Array.from({ length: count }, (_, number) => revisionOf(`api${number}-v1`, bytes))

async function sizesOf(all: readonly StoredRevision[]): Promise<readonly number[]> {
  const batches: (readonly StoredRevision[])[] = []
  await sendInBatches(all, async (batch) => void batches.push(batch))
  expect(batches.flat()).toEqual(all)
  return batches.map(({ length }) => length)
}

describe('The batches of revisions for a starting thread', () => {
  it('have all revisions in order, bounded in number and in bytes', async () => {
    expect(await sizesOf(revisions(450, 10))).toEqual([200, 200, 50])
    expect(await sizesOf(revisions(6, 100 * 1024))).toEqual([3, 3])
    expect(await sizesOf(revisions(2, 1024 * 1024))).toEqual([1, 1])
    expect(await sizesOf([])).toEqual([])
  })

  it('are sent before the ones before are acknowledged, but not all at once', async () => {
    const sent: PromiseWithResolvers<void>[] = []
    const done = sendInBatches(revisions(1_000, 10), () => {
      const sending = Promise.withResolvers<void>()
      sent.push(sending)
      return sending.promise
    })
    expect(sent).toHaveLength(3)
    for (let index = 0; index < 5; index++) {
      sent[index]!.resolve()
      await new Promise(setImmediate)
      expect(sent).toHaveLength(Math.min(5, index + 4))
    }
    await done
  })

  it('end with the failure of one of them', async () => {
    let number = 0
    const send = async (): Promise<void> => {
      if (number++ === 1) throw new Error('the thread has ended')
    }
    await expect(sendInBatches(revisions(1_000, 10), send)).rejects.toThrow('the thread has ended')
  })
})
