import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { Io } from '../../../../../src/interfaces/cli/io.ts'
import { buildBody, type BodyOptions } from '../../../../../src/interfaces/cli/resources/request-body.ts'
import type { FieldKind } from '../../../../../src/interfaces/cli/resources/resource-command.ts'

const build = (
  kinds: Readonly<Record<string, FieldKind>>,
  values: Readonly<Record<string, unknown>>,
  options: BodyOptions = {},
  stdin = '',
) => {
  const fields = Object.entries(kinds).map(([name, kind]) => ({ name, kind }))
  return buildBody(fields, values, options, { stdin: Readable.from([Buffer.from(stdin)]) } as unknown as Io)
}

describe('buildBody', () => {
  it.each([
    ['text', '007', '007'],
    ['list', 'a,b', ['a', 'b']],
    ['list', '', []],
    ['map', ['team=a', 'x=1=2'], { team: 'a', x: '1=2' }],
    ['number', '3', 3],
    ['flag', true, true],
    ['boolean', 'false', false],
    ['file', '-', Buffer.from('content').toString('base64')],
    ['address', 'http://a', { url: 'http://a' }],
    ['json', '{"a":null}', { a: null }],
  ] as const)('converts a %s from %j', async (kind, value, converted) => {
    expect(await build({ field: kind }, { field: value }, {}, 'content')).toEqual({ field: converted })
  })

  it('reads a file, and prefers options to it, and single fields to both', async () => {
    const options = { input: '-', field: ['b=field'], jsonField: ['c=[1]'] }
    const body = await build({ a: 'text', b: 'text' }, { a: 'option', b: 'option' }, options, 'a: file\nd: file\n')
    expect(body).toEqual({ a: 'option', b: 'field', c: [1], d: 'file' })
  })

  it('has no body without fields', async () => {
    expect(await build({ a: 'text' }, {})).toBeUndefined()
  })

  it('keeps a field that is named like a property of objects', async () => {
    const body = await build({}, {}, { field: ['__proto__=x'] })
    expect([JSON.stringify(body), Object.getPrototypeOf(body)]).toEqual(['{"__proto__":"x"}', Object.prototype])
  })

  it('reads secrets from standard input, a line each', async () => {
    expect(await build({ old: 'secret', new: 'secret' }, {}, {}, 'one\ntwo\n')).toEqual({ old: 'one', new: 'two' })
    await expect(build({ old: 'secret', new: 'secret' }, {}, {}, 'one\n')).rejects.toThrow('new: type it')
  })

  it.each([
    [{ a: 'number' }, { a: 'x' }, {}, 'a must be a number'],
    [{ a: 'json' }, { a: '{' }, {}, 'is not JSON'],
    [{}, {}, { field: ['novalue'] }, 'key=value'],
    [{}, {}, { input: '-' }, 'must contain an object'],
    [{}, {}, { input: '/nonexistent' }, 'cannot be read'],
  ] as const)('refuses the fields %j with %j and %j', async (kinds, values, options, reason) => {
    await expect(build(kinds, values, options, '[1]')).rejects.toThrow(reason)
  })

  it.each([
    [{}, { field: ['hunter2'] }, ''],
    [{}, { jsonField: ['clientSecret=hunter2'] }, ''],
    [{ secretHeaders: '{"value":"hunter2' }, {}, ''],
    [{}, { input: '-' }, 'clientSecret: "hunter2\nname: x\n'],
    [{}, { input: '-' }, '{"clientSecret": "hunter2"'],
  ])('repeats no value of the malformed fields %j with %j and the input %j', async (values, options, input) => {
    const refused = await build({ secretHeaders: 'json' }, values, options, input).catch(String)
    expect(refused).toMatch(/^CommandFailed|^Error/)
    expect(refused).not.toContain('hunter2')
  })
})
