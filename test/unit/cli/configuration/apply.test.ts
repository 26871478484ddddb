import { describe, expect, it } from 'vitest'
import { applyAll, applyChanges } from '../../../../src/cli/configuration/apply.ts'
import type { Change } from '../../../../src/cli/configuration/differences.ts'
import type { Context } from '../../../../src/cli/configuration/handler.ts'
import { createNames } from '../../../../src/cli/configuration/names.ts'
import { Refused, type Platform } from '../../../../src/cli/configuration/platform.ts'
import { CommandFailed } from '../../../../src/cli/exit-codes.ts'

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

async function run(apply: typeof applyAll | typeof applyChanges, error: Error) {
  const { context, sent } = contextWith(error)
  const lines: string[] = []
  const result = await apply(context, CHANGES, (line) => lines.push(line))
  return { sent, lines, result }
}

const REFUSED = new Refused(409, 'The consumer s3cret is in use.')

describe('changes', () => {
  it('end at the first that fails, with a report of the rest', async () => {
    const { sent, lines, result } = await run(applyChanges, REFUSED)
    expect(sent).toEqual(['/v1/consumers/a', '/v1/consumers/b'])
    expect(lines).toEqual(['~ consumer a'])
    const failure = { text: 'consumer b: The consumer ${SECRET} is in use.', exitCode: 1 }
    expect(result).toEqual({ done: 1, failure, left: CHANGES.slice(1) })
  })

  it('that are independent go on after a refusal', async () => {
    const { sent, lines, result } = await run(applyAll, REFUSED)
    expect(sent).toEqual(['/v1/consumers/a', '/v1/consumers/b', '/v1/consumers/c'])
    expect(lines).toEqual(['~ consumer a', '~ consumer c'])
    expect(result).toEqual([{ text: 'consumer b: The consumer ${SECRET} is in use.', exitCode: 1 }])
    const { result: changed } = await run(applyAll, new Refused(412, 'x'))
    expect(changed).toEqual([{ text: 'consumer b has changed since it was read.', exitCode: 1 }])
  })

  it('that are independent end when the service cannot be reached, because all others would wait as well', async () => {
    const { sent, result } = await run(applyAll, new CommandFailed('http://a cannot be reached: no answer in time'))
    expect(sent).toHaveLength(2)
    expect(result).toEqual([{ text: 'consumer b: http://a cannot be reached: no answer in time', exitCode: 2 }])
  })

  it.each([
    ['fails', new Refused(503, 'No changes can be stored at the moment.')],
    ['cannot be reached', new CommandFailed('http://a cannot be reached: no answer in time')],
  ])('end with exit code 2 if the service %s midway', async (_, error) => {
    for (const apply of [applyChanges, applyAll]) {
      const { result } = await run(apply, error)
      const [failure] = 'failure' in result ? [result.failure] : result
      expect(failure).toEqual({ text: `consumer b: ${error.message}`, exitCode: 2 })
    }
  })

  it('throw an error that is no refusal', async () => {
    await expect(run(applyAll, new TypeError('x'))).rejects.toThrow(TypeError)
    await expect(run(applyChanges, new TypeError('x'))).rejects.toThrow(TypeError)
  })
})
