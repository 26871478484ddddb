/** The package: packed, installed into an empty folder, and run from there. */

import { execFile } from 'node:child_process'
import { chmodSync, cpSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readVersion } from '../../src/foundation/runtime/version.ts'
import { createService } from './service.ts'

const ROOT = join(import.meta.dirname, '../..')
const SAMPLE = join(ROOT, 'src/app/sample/payments.openapi.yaml')

interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'package-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(command: string, args: readonly string[], cwd: string): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, maxBuffer: 16 * 1024 * 1024 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err })
    })
  })
}

describe('the package', () => {
  let installed: string

  beforeAll(async () => {
    const packed = await run('npm', ['pack', '--pack-destination', folder], ROOT)
    expect(packed, packed.err).toMatchObject({ code: 0 })
    const target = join(folder, 'empty')
    mkdirSync(target)
    writeFileSync(join(target, 'package.json'), '{"private":true}')
    const [tarball] = globSync('tollgate-*.tgz', { cwd: folder })
    const options = ['--no-audit', '--no-fund', '--prefer-offline']
    const install = await run('npm', ['install', ...options, join(folder, tarball!)], target)
    expect(install, install.err).toMatchObject({ code: 0 })
    installed = join(target, 'node_modules')
  })

  it('contains JavaScript only, and neither tests nor sources', () => {
    const files = globSync('**/*', { cwd: join(installed, 'tollgate') })
    expect(files.length).toBeGreaterThan(100)
    expect(files.filter((file) => file.endsWith('.ts') || /^(?:test|src|bench)\//.test(file))).toEqual([])
    expect(files).toContain('sql/definitions.sql')
  })

  it('runs the command', async () => {
    const tollgate = join(installed, '.bin/tollgate')
    const version = await run(tollgate, ['--version'], folder)
    expect(version).toEqual({ code: 0, out: `${readVersion()}\n`, err: '' })
    const lint = await run(tollgate, ['lint', SAMPLE], folder)
    expect(lint, lint.err).toMatchObject({ code: 0 })
    const trouble = await run(tollgate, ['lint', 'missing.yaml'], folder)
    expect(trouble).toMatchObject({ code: 2 })
  })

  it.each(['start', 'demo', 'admin', 'backup', 'restore', 'recover', 'spool'])(
    'has the module that tollgate %s runs',
    async (name) => {
      const help = await run(join(installed, '.bin/tollgate'), [name, '--help'], folder)
      expect(help).toEqual({ code: 0, out: expect.stringContaining('tollgate'), err: '' })
    },
  )

  it('runs the service with tollgate start, until a signal to the command stops it', async () => {
    const service = await createService({
      main: join(installed, 'tollgate/bin/tollgate.js'),
      args: ['start', '--empty'],
      env: { XDG_CACHE_HOME: folder },
    })
    try {
      await service.start()
      expect(await service.platform.get('/v1/apis')).toHaveProperty('items')
      expect(await service.stop()).toBe(0)
      await expect(fetch(`${service.baseUrl}/healthz`)).rejects.toThrow()
    } finally {
      await service.remove()
    }
  })

  it('reports settings with which the service does not start, with its exit code', async () => {
    const refused = await run(join(installed, '.bin/tollgate'), ['start', '--gateway-port', 'x'], folder)
    expect(refused).toMatchObject({ code: 2, out: '', err: expect.stringContaining('GATEWAY_PORT') })
  })
})

describe('the command on a Node that is too old', () => {
  const rootWith = (name: string): string => {
    const root = join(folder, name)
    mkdirSync(join(root, 'bin'), { recursive: true })
    cpSync(join(ROOT, 'bin/tollgate.js'), join(root, 'bin/tollgate.js'))
    writeFileSync(join(root, 'package.json'), '{"type":"module","engines":{"node":">=99.1"}}')
    return root
  }

  it('says which it needs', async () => {
    const root = rootWith('without')
    const { code, err } = await run(process.execPath, [join(root, 'bin/tollgate.js'), 'lint'], folder)
    expect({ code, err }).toEqual({
      code: 2,
      err: `tollgate: needs Node 99.1 or newer; this is ${process.versions.node}\n`,
    })
  })

  it.each([
    ['project/node_modules/tollgate', 'npm install-scripts approve node && npm rebuild node'],
    ['lib/node_modules/tollgate', 'npm install -g --allow-scripts=node tollgate'],
    ['_npx/1f2e/node_modules/tollgate', 'npx --allow-scripts=node tollgate …'],
  ])('says in one line what to allow if npm has blocked the script that brings one, in %s', async (at, command) => {
    const root = rootWith(at)
    if (at.startsWith('project')) writeFileSync(join(root, '../../package.json'), '{}')
    mkdirSync(join(root, '../node'))
    writeFileSync(join(root, '../node/package.json'), '{"name":"node","version":"99.1.0"}')
    const { code, err } = await run(process.execPath, [join(root, 'bin/tollgate.js'), 'lint'], folder)
    expect([code, err.split('\n').length]).toEqual([2, 2])
    expect(err).toContain(`needs Node 99.1 or newer; this is ${process.versions.node}. npm has blocked`)
    expect(err.endsWith(`: ${command}\n`)).toBe(true)
  })

  it('runs with the Node among the dependencies, with the same arguments and exit code', async () => {
    const root = rootWith('with')
    const bin = join(root, 'node_modules/node/bin')
    mkdirSync(bin, { recursive: true })
    writeFileSync(join(root, 'node_modules/node/package.json'), '{"name":"node","version":"99.1.0"}')
    writeFileSync(join(bin, 'node'), '#!/bin/sh\necho "$@"\nexit 3\n')
    chmodSync(join(bin, 'node'), 0o755)
    const { code, out } = await run(process.execPath, [join(root, 'bin/tollgate.js'), 'lint', 'a b'], folder)
    expect({ code, out }).toEqual({ code: 3, out: `${join(root, 'dist/interfaces/cli/main.js')} lint a b\n` })
  })
})
