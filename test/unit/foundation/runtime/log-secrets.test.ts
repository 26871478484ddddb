import { expect, it } from 'vitest'
import { fetch } from 'undici'
import { createLog } from '../../../../src/foundation/runtime/log.ts'

/** Returns the lines of a log, on stderr and of the tap. */
function linesOf(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = []
  const keep = { write: (line: string) => void lines.push(line) }
  write(createLog('trace', { destination: keep, tap: keep }))
  expect(lines).toHaveLength(2)
  for (const line of lines) JSON.parse(line)
  return lines.join('')
}

async function errorOf(work: () => unknown): Promise<unknown> {
  try {
    await work()
  } catch (cause) {
    return cause
  }
  throw new Error('no error')
}

const reply = Object.assign(new Error('WRONGPASS'), { command: { name: 'hello', args: ['3', 'AUTH', 'x', 'hunter2'] } })

it.each([
  ['that no URL parser takes', () => new URL('http//user:hunter2@db')],
  ['that fetch refuses', () => fetch('http://user:hunter2@db.example/')],
  ['that fetch does not parse', () => fetch('http://user:hunter2@db.example:port/')],
  [
    'of several attempts',
    () => Promise.any([errorOf(() => new URL('//hunter2')).then((cause) => Promise.reject(cause))]),
  ],
  ['of a cause', () => Promise.reject(new Error('x', { cause: new Error('redis://:a"hunter2%2F@db/') }))],
  ['of a query', () => Promise.reject(new Error('GET https://db.example/x?a=1&password=hunter2&b=2 failed'))],
  ['of a command of Redis', () => Promise.reject(reply)],
])('the log has no password of an address %s', async (_, work) => {
  const err = await errorOf(work)
  const text = linesOf((log) => log.error({ err }, 'failed'))
  expect(text).not.toContain('hunter2')
  expect(text).toContain('[secret]')
})

it('the log keeps addresses without credentials, and at signs elsewhere', () => {
  const text = 'https://db.example/a@b?tokens=3 and someone@db.example'
  expect(linesOf((log) => log.info({ url: text }, text))).toContain(`"url":"${text}"`)
})
