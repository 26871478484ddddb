import { describe, expect, it } from 'vitest'
import { applyChanges } from '../../../../../src/interfaces/cli/configuration/apply.ts'
import type { Change } from '../../../../../src/interfaces/cli/configuration/differences.ts'
import type { Context } from '../../../../../src/interfaces/cli/configuration/handler.ts'
import { createNames } from '../../../../../src/interfaces/cli/configuration/names.ts'
import { Refused, type Platform } from '../../../../../src/interfaces/cli/configuration/platform.ts'
import type { Fields } from '../../../../../src/interfaces/cli/configuration/resource.ts'
import { CommandFailed } from '../../../../../src/interfaces/cli/exit-codes.ts'

/** A service that answers the change of `b` with an error. */
function contextWith(error: Error) {
  const sent: string[] = []
  const platform: Platform = {
    get: () => Promise.reject(new Error('not read')),
    list: () => Promise.reject(new Error('not read')),
    text: () => Promise.reject(new Error('not read')),
    send(_method, path) {
      sent.push(path)
      return path.endsWith('/b') ? Promise.reject(error) : Promise.resolve({ body: {}, tag: '' })
    },
  }
  const hide = (text: string) => text.replaceAll('s3cret', '${SECRET}')
  const context: Context = { platform, names: createNames(), readFile: () => '', hide }
  return { context, sent }
}

const CHANGES: readonly Change[] = ['a', 'b', 'c'].map((name) => {
  const found = { kind: 'consumer', name, fields: {}, id: name, tags: ['"1"'] }
  const differences = [{ field: 'labels', before: {}, after: { x: 'y' } }]
  return { action: 'change', found, wanted: { ...found, fields: { labels: { x: 'y' } } }, differences }
})

async function run(error: Error, changes = CHANGES) {
  const { context, sent } = contextWith(error)
  const lines: string[] = []
  const result = await applyChanges(context, changes, (line) => lines.push(line))
  return { sent, lines, result }
}

const REFUSED = new Refused(409, 'The consumer s3cret is in use.')

describe('changes', () => {
  it('go on after a refusal, with a report of those that were not made', async () => {
    const { sent, lines, result } = await run(REFUSED)
    expect(sent).toEqual(['/v1/consumers/a', '/v1/consumers/b', '/v1/consumers/c'])
    expect(lines).toEqual(['~ consumer a', '~ consumer c'])
    const failures = [{ text: 'consumer b: The consumer ${SECRET} is in use.', exitCode: 1 }]
    expect(result).toEqual({ done: 2, waiting: 0, failures, left: [CHANGES[1]] })
    const { result: changed } = await run(new Refused(412, 'x'))
    expect(changed.failures).toEqual([{ text: 'consumer b has changed since it was read.', exitCode: 1 }])
  })

  const user = (name: string, consumer: string): Change => {
    const roles = [{ role: 'consumer', consumers: [consumer] }]
    return { action: 'create', wanted: { kind: 'user', name, fields: { roles } } }
  }
  const adr = (name: string, api: string): Change => ({
    action: 'create',
    wanted: { kind: 'adr', name, fields: { api } },
  })

  it('are not made if one that they depend on failed, directly or not', async () => {
    const subscription: Change = {
      action: 'create',
      wanted: { kind: 'subscription', name: 'b to x', fields: { consumer: 'b', api: 'x' } },
    }
    const dependents = [user('ann', 'b'), subscription]
    const { sent, result } = await run(REFUSED, [...CHANGES, ...dependents, adr('Why', 'b')])
    expect(sent).toEqual(['/v1/consumers/a', '/v1/consumers/b', '/v1/consumers/c', '/v1/adrs'])
    expect(result).toMatchObject({ done: 3, waiting: 0, left: [CHANGES[1], ...dependents] })
  })

  it('do not remove what a resource needs that could not be removed', async () => {
    const foundOf = (kind: string, name: string, fields: Fields): Change => {
      return { action: 'remove', found: { kind, name, fields, id: name, tags: [''] } }
    }
    const removals = [
      foundOf('product', 'b', { apis: ['x'] }),
      foundOf('consumer', 'c', {}),
      foundOf('api', 'x', {}),
      foundOf('role', 'helper', {}),
    ]
    const { sent, result } = await run(REFUSED, removals)
    expect(sent).toEqual(['/v1/products/b', '/v1/consumers/c', '/v1/roles/helper'])
    expect(result.left).toEqual([removals[0], removals[2]])
  })

  it.each([
    ['fails', new Refused(503, 'No changes can be stored at the moment.')],
    ['cannot be reached', new CommandFailed('http://a cannot be reached: no answer in time')],
  ])('end with exit code 2 if the service %s midway, because all others would wait as well', async (_, error) => {
    const { sent, result } = await run(error)
    expect(sent).toHaveLength(2)
    const failures = [{ text: `consumer b: ${error.message}`, exitCode: 2 }]
    expect(result).toEqual({ done: 1, waiting: 0, failures, left: CHANGES.slice(1) })
  })

  it('throw an error that is no refusal', async () => {
    await expect(run(new TypeError('x'))).rejects.toThrow(TypeError)
  })
})
