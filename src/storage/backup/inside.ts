/** Checks whether paths and symbolic links stay inside of a folder. */

import { realpathSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'

/** Whether `path` is `folder` or lies in it, after resolution of symbolic links; neither has to exist. */
export function isInside(folder: string, path: string): boolean {
  return isBelow(relative(realPath(folder), realPath(path)))
}

/** Whether a relative path names its folder or something in it. */
function isBelow(path: string): boolean {
  return !path.startsWith('/') && path.split('/')[0] !== '..'
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPath(parent), basename(path))
  }
}

/** Whether the relative `path` is normalised and stays inside of its folder. */
export function isPlain(path: string): boolean {
  return path !== '' && path !== '.' && path === normalize(path) && isBelow(path) && !/\0|\/$/.test(path)
}

/** Whether the symbolic link at `path` belongs to the embedded store: link and target are both inside of `clickhouse/`. */
export function isStoreLink(path: string, link: string): boolean {
  const store = /^clickhouse\/./
  return store.test(path) && !link.startsWith('/') && store.test(normalize(join(dirname(path), link)))
}
