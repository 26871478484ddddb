/**
 * Copies a backup into a new data folder, after a comparison of every file with the manifest.
 *
 * While the copy runs, the target contains a marker file, and the service does not start on it. The target may exist if it is empty,
 * for example as a mounted volume.
 */

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartRefused, toStartRefused } from '../../foundation/runtime/start-refused.ts'
import { RESTORING } from '../store/sqlite/data-folder.ts'
import { copyFile, describeFile, filesIn, syncFolders } from './copy-files.ts'
import { isInside } from './inside.ts'
import { MANIFEST_NAME, readManifest, type BackupFile, type Manifest } from './manifest.ts'

/** Entries of an empty mount point that are ignored. */
const IGNORED = new Set(['lost+found'])

/** Throws `StartRefused`; a partially filled target keeps its marker. */
export function restoreBackup(backup: string, target: string): Manifest {
  const [from, to] = [resolve(backup), resolve(target)]
  const manifest = readManifest(from)
  compare(from, manifest)
  if (isInside(from, to)) throw new StartRefused(`${to} lies in the backup; choose a folder outside of it`)
  try {
    refuseUsed(to)
    mkdirSync(to, { recursive: true, mode: 0o700 })
    writeFileSync(join(to, RESTORING), `${from}\n`, { mode: 0o600, flush: true })
    for (const { path } of manifest.files) copyFile(join(from, path), join(to, path))
    compare(to, manifest, new Set([RESTORING, ...IGNORED]))
    mkdirSync(join(to, 'spool'), { recursive: true, mode: 0o700 })
    syncFolders(to)
    rmSync(join(to, RESTORING))
    syncFolders(to)
  } catch (cause) {
    throw toStartRefused(to, cause)
  }
  return manifest
}

function refuseUsed(to: string): void {
  if (existsSync(to) && readdirSync(to).some((name) => !IGNORED.has(name))) {
    throw new StartRefused(`${to} is not empty; choose a folder that is empty or does not exist`)
  }
}

/** Compares the folder with the manifest: every listed file is unchanged, and there are no others. */
function compare(folder: string, { files }: Manifest, ignored: ReadonlySet<string> = new Set()): void {
  const expected = new Map(files.map((file) => [file.path, file]))
  try {
    for (const path of filesIn(folder, (found) => !ignored.has(found) && found !== MANIFEST_NAME)) {
      const file = expected.get(path)
      if (file === undefined)
        throw new StartRefused(`${join(folder, path)} is not listed in the manifest; use another backup`)
      expected.delete(path)
      if (!isSame(describeFile(folder, path), file)) {
        throw new StartRefused(`${join(folder, path)} differs from its entry in the manifest; use another backup`)
      }
    }
  } catch (cause) {
    throw toStartRefused(folder, cause)
  }
  const [missing] = expected.keys()
  if (missing !== undefined) throw new StartRefused(`${join(folder, missing)} is missing; use another backup`)
}

function isSame(a: BackupFile, b: BackupFile): boolean {
  if ('link' in a) return 'link' in b && a.link === b.link
  return 'sha256' in b && a.bytes === b.bytes && a.sha256 === b.sha256
}
