import { expect, it } from 'vitest'
import { createServicePlatform } from '../../../../../src/interfaces/cli/configuration/service-platform.ts'
import type { ApiCall } from '../../../../../src/interfaces/cli/session/api-client.ts'

type Given = readonly [status: number, retryAfter: string | null]

/** A service that gives these answers, and then 200. */
function platformWith(given: readonly Given[]) {
  const calls: ApiCall[] = []
  const pauses: number[] = []
  let notices = 0
  const platform = createServicePlatform({
    api: {
      send(call) {
        const [status, retryAfter] = given[calls.length] ?? [200, null]
        calls.push(call)
        const headers = new Headers({ etag: '"1"', ...(retryAfter !== null && { 'retry-after': retryAfter }) })
        const query = new URLSearchParams(call.path.split('?')[1])
        const next = query.get('cursor') === null ? 'a&b' : null
        return Promise.resolve({ status, headers, body: Buffer.from(JSON.stringify({ items: [{ id: 'x' }], next })) })
      },
    },
    pause: (ms) => Promise.resolve(pauses.push(ms)),
    onLimited: () => notices++,
  })
  return { platform, calls, pauses, notices: () => notices }
}

it('repeats a call that a rate refuses when it opens, with its precondition, and says so once', async () => {
  const limited = [429, '2'] as const
  const { platform, calls, pauses, notices } = platformWith([limited, limited, [200, null], limited])
  expect(await platform.send('PUT', '/v1/a', { b: 1 }, '"0"')).toMatchObject({ tag: '"1"' })
  expect(calls).toHaveLength(3)
  expect(new Set(calls.map((call) => JSON.stringify(call))).size).toBe(1)
  expect(calls[0]).toMatchObject({ body: '{"b":1}', headers: { 'if-match': '"0"' } })
  await platform.get('/v1/a')
  expect([pauses, notices()]).toEqual([[2_000, 2_000, 2_000], 1])
})

it.each([
  ['a quota that opens later', [429, '3600']],
  ['a limit that does not say when it opens', [429, null]],
  ['a time that is no number', [429, 'soon']],
  ['another error', [503, '1']],
] as const)('does not wait for %s', async (_, given) => {
  const { platform, calls } = platformWith([given])
  await expect(platform.get('/v1/a')).rejects.toMatchObject({ status: given[0] })
  expect(calls).toHaveLength(1)
})

it('gives up after a hundred refusals of one call', async () => {
  const { platform, calls } = platformWith(Array.from({ length: 200 }, () => [429, '1'] as const))
  await expect(platform.get('/v1/a')).rejects.toMatchObject({ status: 429 })
  expect(calls).toHaveLength(101)
})

it('reads all pages of a list', async () => {
  const { platform, calls } = platformWith([])
  expect(await platform.list('/v1/a?api=b')).toHaveLength(2)
  expect(calls.map(({ path }) => path)).toEqual(['/v1/a?api=b&limit=100', '/v1/a?api=b&limit=100&cursor=a%26b'])
})
