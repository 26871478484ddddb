/** A working folder for commands that run in this process; the process changes into it until the test has finished. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { runGate } from '../../../../../src/interfaces/cli/gate/run-gate.ts'
import type { GateCommand } from '../../../../../src/interfaces/cli/gate/gate-settings.ts'
import { createSharedLinter } from '../../../../fixtures/shared-linter.ts'

export const NOW_MS = Date.parse('2026-06-15T12:00:00Z')

export function openFolder(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gate-')))
  const before = process.cwd()
  onTestFinished(() => {
    process.chdir(before)
    rmSync(folder, { recursive: true })
  })
  process.chdir(folder)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(name), { recursive: true })
    writeFileSync(name, text)
  }
  return folder
}

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function gate(command: GateCommand, args: readonly string[], stdin = ''): Promise<Ran> {
  let [out, err] = ['', '']
  const code = await runGate(command, args, {
    stdin: Readable.from([Buffer.from(stdin)]),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    colour: false,
    nowMs: NOW_MS,
    createLinter: createSharedLinter,
  })
  return { code, out, err }
}

/** A document with two findings of severity warning at `GET /things`: `operation-summary` and `security-declared`. */
export function documentOf(
  changes: { readonly version?: string; readonly operation?: object; readonly paths?: object } = {},
): string {
  const operation = {
    operationId: 'listThings',
    tags: ['things'],
    responses: { 200: { description: 'Fine.' }, default: { description: 'Not fine.' } },
    ...changes.operation,
  }
  return JSON.stringify(
    {
      openapi: '3.1.0',
      info: {
        title: 'Things',
        version: changes.version ?? '1.0.0',
        description: 'Keeps things.',
        contact: { name: 'Team' },
      },
      tags: [{ name: 'things' }],
      paths: { '/things': { get: operation }, ...changes.paths },
    },
    null,
    2,
  )
}
