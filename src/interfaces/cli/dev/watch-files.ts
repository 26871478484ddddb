/**
 * Watches files for new content.
 *
 * Watches their folders, because editors replace a file; compares the content, because one change gives several events.
 */

import { createHash } from 'node:crypto'
import { watch, type FSWatcher } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Resolves when the change is processed. */
export type OnChange = (file: string, content: Buffer) => Promise<void>

/** Called once when a file cannot be read for longer than an editor takes to replace it. */
export type OnMissing = (file: string) => void

const SETTLE_MS = 150

/** `contents` has the current content of each file. Returns a function that stops watching. */
export function watchFiles(
  contents: ReadonlyMap<string, Buffer>,
  onChange: OnChange,
  onMissing: OnMissing,
): () => void {
  const digests = new Map([...contents].map(([file, content]) => [resolve(file), digestOf(content)]))
  const names = new Map([...contents.keys()].map((file) => [resolve(file), file]))
  const missing = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let work: Promise<void> = Promise.resolve()

  async function look(): Promise<void> {
    for (const [path, digest] of digests) {
      const content = await readFile(path).catch(() => null)
      if (content === null) {
        if (!missing.has(path)) onMissing(names.get(path) ?? path)
        missing.add(path)
        continue
      }
      missing.delete(path)
      if (digestOf(content) === digest) continue
      digests.set(path, digestOf(content))
      await onChange(names.get(path) ?? path, content)
    }
  }
  function schedule(): void {
    clearTimeout(timer)
    timer = setTimeout(() => void (work = work.then(look)), SETTLE_MS)
  }

  const folders = new Set([...digests.keys()].map((path) => dirname(path)))
  const watchers: readonly FSWatcher[] = [...folders].map((folder) => watch(folder, schedule))
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
