/**
 * The random ids of a node. They belong to the data folder, so that two processes with one lineage have copies of one folder.
 *
 * The folder also names its place: boot of the machine, device, and inode of the lock, which this process holds. At the same place the
 * former process has ended, because the lock was free. At another one the folder may be a copy or a volume that moved while the former
 * process goes on, cut off from the others: this process then takes another incarnation, and the former one stays in the list.
 */

import { randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { writeWhole } from '../../foundation/runtime/sync-folder.ts'

export interface NodeIds {
  /** Names the node in the list. */
  readonly incarnation: string
  /** The same in all copies of a folder. */
  readonly lineage: string
}

export interface ClaimOptions {
  readonly dataDir: string
  /** Changes when the machine starts; null if the platform does not say: every start takes another incarnation. */
  readonly bootId: string | null
  /**
   * Called before the ids are renewed or created: the former process may not have ended, so that this one must use nothing that it held.
   * `isCopied`: the folder has another lock than that process had.
   */
  readonly onRenewal: (isCopied: boolean) => void
}

const FILE = 'node.id'
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const CONTENT = new RegExp(`^(${UUID})\\n(${UUID})\\n(\\S*) (\\d+) (\\d+)\\n$`)

/** Returns the ids in the folder; null if it has none. Throws `StartRefused` if the file holds something else. */
export function readIds(dataDir: string): NodeIds | null {
  return read(join(dataDir, FILE))
}

/** Reads the ids of the folder, whose lock this process holds, renews or creates them. Throws `StartRefused`. */
export function claimIds({ dataDir, bootId, onRenewal }: ClaimOptions): NodeIds {
  const path = join(dataDir, FILE)
  const stored = read(path)
  const { dev, ino } = statSync(join(dataDir, 'lock'))
  const place = { boot: bootId ?? '', device: String(dev), inode: String(ino) }
  const isSameBoot = place.boot !== '' && stored?.boot === place.boot
  const isSameDevice = stored?.device === place.device
  const isSameInode = stored?.inode === place.inode
  const isRenewed = stored !== null && !(isSameBoot && isSameDevice && isSameInode)
  if (stored !== null && !isRenewed) return stored
  // A device may have another number after a boot.
  onRenewal(!isSameInode || (isSameBoot && !isSameDevice))
  const incarnation = randomUUID()
  const lineage = stored?.lineage ?? incarnation
  writeWhole(path, `${incarnation}\n${lineage}\n${place.boot} ${place.device} ${place.inode}\n`)
  return { incarnation, lineage }
}

interface Stored extends NodeIds {
  readonly boot: string
  readonly device: string
  readonly inode: string
}

function read(path: string): Stored | null {
  const content = readIfThere(path)
  if (content === null) return null
  const [, incarnation, lineage, boot = '', device = '', inode = ''] = CONTENT.exec(content) ?? []
  if (incarnation !== undefined && lineage !== undefined) return { incarnation, lineage, boot, device, inode }
  throw new StartRefused(`${path} is damaged; remove it, and this node joins as a new one`)
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
}
