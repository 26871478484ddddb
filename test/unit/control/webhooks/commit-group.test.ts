import { expect, it } from 'vitest'
import type { Commit } from '../../../../src/storage/store/registry.ts'
import { createCommitGroup } from '../../../../src/control/webhooks/commit-group.ts'

const commit = (action: string): Commit => ({ author: { tenant: 'acme', consumer: 'system' }, action, writes: [] })
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function open(commitEach: (commits: readonly Commit[]) => Promise<readonly (Error | null)[]>) {
  const groups: string[][] = []
  const group = createCommitGroup({
    registry: {
      commitEach(commits) {
        groups.push(commits.map(({ action }) => action))
        return commitEach(commits)
      },
    },
  })
  return { ...group, groups }
}

it('a commit group commits a few results per turn of the event loop, in order of arrival', async () => {
  const { add, groups } = open(async (commits) => commits.map(() => null))
  const done = Promise.all(Array.from({ length: 20 }, (_, index) => add(commit(String(index)))))
  expect(groups).toEqual([])
  await turn()
  expect(groups).toHaveLength(1)
  await done

  expect(groups.map(({ length }) => length)).toEqual([8, 8, 4])
  expect(groups.flat()).toEqual(Array.from({ length: 20 }, (_, index) => String(index)))
})

it('a commit group settles each result separately, and rejects all if the registry fails', async () => {
  let isFull = false
  const { add } = open(async (commits) => {
    if (isFull) throw new Error('full')
    return commits.map(({ action }) => (action === 'bad' ? new Error('refused') : null))
  })
  const outcomes = await Promise.allSettled([add(commit('good')), add(commit('bad')), add(commit('good'))])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])

  isFull = true
  const lost = await Promise.allSettled([add(commit('good')), add(commit('good'))])
  expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  isFull = false
  await add(commit('good'))
})
