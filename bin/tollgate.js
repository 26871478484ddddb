#!/usr/bin/env node
/**
 * Runs the command with a Node that can: the current one, or the one among the dependencies.
 *
 * The package has JavaScript in `dist/`, because Node does not strip types below `node_modules`; a clone has only `src/`. Compiled
 * modules are kept in the cache folder of the user, because the type stripper takes longer than everything else that a start does.
 * This file must run on old versions of Node.
 */

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

const EXIT_TROUBLE = 2
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const BUILT = join(ROOT, 'dist/interfaces/cli/main.js')
const MAIN = existsSync(join(ROOT, 'src')) ? join(ROOT, 'src/interfaces/cli/main.ts') : BUILT

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tollgate', 'compiled')

const needed = readNeededVersion()
if (isAtLeast(process.versions.node, needed)) {
  module.enableCompileCache(CACHE)
  await import(pathToFileURL(MAIN).href)
} else {
  const node = findNode()
  if (node === null) {
    const reason = `needs Node ${needed} or newer; this is ${process.versions.node}${remedy()}`
    process.stderr.write(`tollgate: ${reason}\n`)
    process.exitCode = EXIT_TROUBLE
  } else runWith(node)
}

function readNeededVersion() {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return engines.node.replace('>=', '')
}

function isAtLeast(version, least) {
  const [major, minor] = version.split('.').map(Number)
  const [leastMajor, leastMinor] = least.split('.').map(Number)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

/** Returns the Node among the dependencies; null if its installation was refused. */
function findNode() {
  try {
    const node = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin/node')
    return existsSync(node) ? node : null
  } catch {
    return null
  }
}

/** npm blocks the install script of a dependency that the user has not allowed. */
function remedy() {
  try {
    createRequire(import.meta.url).resolve('node/package.json')
  } catch {
    return ''
  }
  return `. npm has blocked the install script of the package node, which brings one; allow it: ${allowance()}`
}

function allowance() {
  if (ROOT.includes(`${sep}_npx${sep}`)) return 'npx --allow-scripts=node tollgate …'
  const isOfProject = existsSync(join(ROOT, '../../package.json'))
  if (!isOfProject) return 'npm install -g --allow-scripts=node tollgate'
  return 'npm install-scripts approve node && npm rebuild node'
}

function runWith(node) {
  const child = spawn(node, [MAIN, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE: CACHE, ...process.env },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (cause) => {
    process.stderr.write(`tollgate: ${node} could not be started: ${cause.message}\n`)
    process.exitCode = EXIT_TROUBLE
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exitCode = code ?? EXIT_TROUBLE
    else {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    }
  })
}
