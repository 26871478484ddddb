import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { newDataName, openDevFolder, type DevState } from '../../../../../src/interfaces/cli/dev/dev-folder.ts'

function home(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dev-folder-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const stateOf = (more: Partial<DevState> = {}): DevState => ({
  ...{
    data: newDataName(),
    gatewayPort: 1,
    platformPort: 2,
    clientSecret: 's',
    subscription: 'sub_1',
    isDeclared: false,
  },
  ...more,
})

it('keeps the state of an API for each working directory, and lets nobody else read it', async () => {
  const env = { XDG_STATE_HOME: home() }
  const first = await openDevFolder('orders-v1', { env }, '/a')
  expect(first.state).toBeNull()
  const state = stateOf()
  await first.save(state)
  expect((await openDevFolder('orders-v1', { env }, '/a')).state).toMatchObject(state)
  expect((await openDevFolder('orders-v1', { env }, '/b')).state).toBeNull()
  expect((await openDevFolder('other-v1', { env }, '/a')).state).toBeNull()
  expect(readdirSync(first.path)).toEqual(['dev.json'])
  const modes = [first.path, dirname(first.path), join(first.path, 'dev.json')].map(
    (path) => statSync(path).mode & 0o077,
  )
  expect(modes).toEqual([0, 0, 0])
  expect(first.dataDirOf(state)).toBe(join(first.path, state.data))
})

it('does not use a state that it has not written, such as one with a data folder elsewhere', async () => {
  const env = { XDG_STATE_HOME: home() }
  const folder = await openDevFolder('orders-v1', { env }, '/a')
  for (const text of [
    '',
    '[]',
    'null',
    JSON.stringify(stateOf({ data: '../..' })),
    JSON.stringify({ data: 'data-00000000' }),
  ]) {
    writeFileSync(join(folder.path, 'dev.json'), text)
    expect([text, (await openDevFolder('orders-v1', { env }, '/a')).state]).toEqual([text, null])
  }
})

it('takes a temporary folder, and removes it, if the own one cannot be made', async () => {
  const blocked = home()
  writeFileSync(join(blocked, 'tollgate'), '')
  const folder = await openDevFolder('orders-v1', { env: { XDG_STATE_HOME: blocked } }, '/a')
  expect(dirname(folder.path)).toBe(tmpdir())
  await folder.close()
  expect(() => statSync(folder.path)).toThrow('ENOENT')
})
