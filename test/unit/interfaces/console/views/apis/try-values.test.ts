import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { readApiDocument } from '../../../../../../src/interfaces/console/views/apis/document.ts'
import { toCurl, toTryCall } from '../../../../../../src/interfaces/console/views/apis/try-call.ts'
import { initialValues } from '../../../../../../src/interfaces/console/views/apis/try-values.ts'

function lineOf(item: object, path = '/entries/{id}'): string {
  const { operations, resolve } = readApiDocument({ paths: { [path]: item } })
  const operation = operations[0]!
  return toCurl(
    toTryCall('ledger-v1', operation, initialValues(operation, resolve)),
    'https://gateway.example',
    'x-api-key: KEY',
  )
}

/** The arguments that a shell gives to curl. */
function argumentsOf(line: string): readonly string[] {
  const text = execFileSync('sh', ['-c', line.replace(/^curl/, `printf '%s\\0'`)], { encoding: 'utf8' })
  return text.split('\0').slice(0, -1)
}

it('fills what an operation requires, or has an example for', () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
    { name: 'page', in: 'query', schema: { type: 'integer' } },
    { name: 'size', in: 'query', example: 5 },
  ]
  const requestBody = { content: { 'application/json': { example: { amount: 1 } } } }
  expect(argumentsOf(lineOf({ post: { parameters, requestBody, responses: {} } }))).toEqual([
    ...['-H', 'x-api-key: KEY', '-X', 'POST', '-H', 'Content-Type: application/json'],
    ...['--data-raw', '{\n  "amount": 1\n}'],
    'https://gateway.example/ledger-v1/entries/00000000-0000-4000-8000-000000000000?size=5',
  ])
})

it.each(["'; touch /tmp/pwned; '", '$(id)', '`id`', '"', '\\', 'a\nb', '--output=x'])(
  'gives the text %j of a document to curl as it is',
  (text) => {
    const parameters = [{ name: 'x-shop', in: 'header', example: text }]
    const requestBody = { content: { 'text/plain': { example: text } } }
    const given = argumentsOf(lineOf({ post: { parameters, requestBody, responses: {} } }, `/a${text}`))
    expect(given).toContain(`x-shop: ${text}`)
    expect(given[given.indexOf('--data-raw') + 1]).toBe(text)
    expect(given.at(-1)).toBe(`https://gateway.example/ledger-v1/a${text}`)
    expect(given.length).toBe(11)
  },
)
