/** Global setup: the temporary files of all tests and of the processes they start are in one folder, removed at the end. */

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function removeTemporaryFiles(): () => void {
  // A short name: the path of a socket has at most 107 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'tg-'))
  // Servers that refuse to run as root use folders in it.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
