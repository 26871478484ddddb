import { describe, expect, it } from 'vitest'
import { compile, faultsOf, RESPONSES } from './compiled-plans.ts'

const NAME = 'x-tollgate-client-certificate'
const KEY = { security: [{ key: [] }] }
const UNKNOWN = 'The value must be required or not-required.'

/** Two operations, of which the second has `value`. */
const paths = (value?: unknown, security: object = KEY) => ({
  '/a': { get: { responses: RESPONSES, ...KEY } },
  '/b': { get: { responses: RESPONSES, ...security, ...(value !== undefined && { [NAME]: value }) } },
})

async function required(root: unknown, own?: unknown): Promise<boolean[]> {
  const { operations } = await compile(paths(own), root === undefined ? {} : { [NAME]: root })
  return operations.map(({ requiresCertificate }) => requiresCertificate === true)
}

describe('x-tollgate-client-certificate', () => {
  it.each([
    [undefined, undefined, [false, false]],
    ['not-required', undefined, [false, false]],
    ['required', undefined, [true, true]],
    ['required', 'not-required', [true, false]],
    ['required', 'required', [true, true]],
    [undefined, 'required', [false, true]],
    ['not-required', 'required', [false, true]],
  ])('is %s at the root and %s at an operation', async (root, own, expected) => {
    expect(await required(root, own)).toEqual(expected)
  })

  it.each([true, 'Required', 'optional', '', null, ['required'], { required: true }])('refuses %j', async (value) => {
    expect(await faultsOf(compile(paths(value)))).toEqual([`/paths/~1b/get/${NAME} ${UNKNOWN}`])
    expect(await faultsOf(compile(paths(), { [NAME]: value }))).toEqual([`/${NAME} ${UNKNOWN}`])
  })

  it('refuses a public operation that requires a certificate', async () => {
    const detail = `The operation needs no credential that could be bound to a client certificate. Declare \`${NAME}: not-required\` for it, or a credential.`
    const open = { security: [] }
    expect(await faultsOf(compile(paths('required', open)))).toEqual([`/paths/~1b/get/${NAME} ${detail}`])
    expect(await faultsOf(compile(paths(undefined, open), { [NAME]: 'required' }))).toEqual([
      `/paths/~1b/get ${detail}`,
    ])
    const lifted = await compile(paths('not-required', open), { [NAME]: 'required' })
    expect(lifted.operations.map(({ requiresCertificate }) => requiresCertificate)).toEqual([true, undefined])
  })
})
