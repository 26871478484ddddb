/**
 * A version of tollgate after this one, as a copy of its sources with a few lines replaced: it reads one format more, extends the
 * schema by a step, and writes signals in another form as soon as all nodes read that format.
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FORMAT } from '../../src/storage/store/nodes.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Everything else that a service reads from its checkout. */
const LINKED = ['node_modules', 'sql', 'build', 'bin', 'examples', 'docs']
export const LATER_FORMAT = FORMAT + 1
export const LATER_VERSION = '99.0.0'

/** A folder with both versions, one of which is installed. Processes start with that one. */
export interface Installation {
  readonly main: string
  install(version: 'this' | 'later'): void
}

export interface LaterVersion {
  readonly main: string
  /** Returns a new installation of this version. */
  installation(): Installation
  remove(): void
}

export function makeLaterVersion(): LaterVersion {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-later-'))
  const later = join(folder, 'later')
  cpSync(join(ROOT, 'src'), join(later, 'src'), { recursive: true })
  for (const name of LINKED) symlinkSync(join(ROOT, name), join(later, name))
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object
  writeFileSync(join(later, 'package.json'), JSON.stringify({ ...manifest, version: LATER_VERSION }))
  replaceIn(join(later, 'src/storage/store/nodes.ts'), `FORMAT = ${FORMAT}\n`, `FORMAT = ${LATER_FORMAT}\n`)
  const steps = join(later, 'src/storage/store/postgres/schema-steps.ts')
  replaceIn(steps, '\n]\n', `\n  'ALTER TABLE node ADD COLUMN later text; CREATE TABLE later_version (id int)',\n]\n`)
  const signals = join(later, 'src/storage/store/postgres/risk-signals.ts')
  const [body, read] = [`JSON.stringify({ format, ...signal })`, 'return format <= FORMAT ? signal : null']
  replaceIn(
    signals,
    body,
    `JSON.stringify(format < ${LATER_FORMAT} ? { format, ...signal } : { format, later: signal })`,
  )
  replaceIn(
    signals,
    read,
    `return format < ${LATER_FORMAT} ? signal : (signal as unknown as { later: RiskSignal }).later`,
  )
  let count = 0
  return {
    main: join(later, 'src/main.ts'),
    installation() {
      const link = join(folder, `installed-${count++}`)
      symlinkSync(ROOT, link)
      return {
        main: join(link, 'src/main.ts'),
        install(version) {
          rmSync(link)
          symlinkSync(version === 'this' ? ROOT : later, link)
        },
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function replaceIn(path: string, text: string, by: string): void {
  const parts = readFileSync(path, 'utf8').split(text)
  if (parts.length !== 2) throw new Error(`${path} has ${parts.length - 1} places with ${text}`)
  writeFileSync(path, parts.join(by))
}
