/** The Dockerfile parses, and the image runs without root what the repository has. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DockerfileParser } from 'dockerfile-ast'
import { validate } from 'dockerfile-utils'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../src/app/config.ts'
import { SERVICE_OPERATIONS } from '../../../src/interfaces/platform/service-routes.ts'
import { faultsOf, readDeployment, ROOT, unknownSettings } from '../../fixtures/deployment.ts'

const text = readDeployment('Dockerfile')
const dockerfile = DockerfileParser.parse(text)
const instructions = dockerfile.getInstructions()
const lastStage = instructions.findLastIndex((each) => each.getKeyword() === 'FROM')
const final = instructions.slice(lastStage)

const valuesOf = (keyword: string): readonly string[] =>
  final
    .filter((each) => each.getKeyword() === keyword)
    .map((each) => each.getArgumentsContent()?.replaceAll(/\\\n\s*/g, '') ?? '')

const environment = Object.fromEntries(
  valuesOf('ENV').flatMap((value) => value.split(/\s+/).map((pair) => pair.split('=', 2) as [string, string])),
)

/** Variables of Node and of the shell. */
const OTHERS = ['HOME', 'NODE_COMPILE_CACHE', 'PATH']
const settings = Object.fromEntries(Object.entries(environment).filter(([name]) => !OTHERS.includes(name)))

describe('The Dockerfile', () => {
  it('has no fault', () => {
    expect(validate(text)).toEqual([])
    expect(validate('FROM node AS a\nFROM debian AS a\nUSR 1')).not.toEqual([])
  })

  it('builds in one stage, and copies only the result into the other', () => {
    expect(instructions.filter((each) => each.getKeyword() === 'FROM')).toHaveLength(2)
    const copies = final.filter((each) => each.getKeyword() === 'COPY').map((each) => each.toString())
    expect(copies).toEqual(['COPY --from=build /app /app'])
  })

  it('runs as a user without root, who owns only the volume', () => {
    const [user = ''] = valuesOf('USER')
    expect(user).toMatch(/^[1-9]\d{3,}:[1-9]\d{3,}$/)
    const [uid] = user.split(':')
    expect(valuesOf('RUN').join()).toContain(`--owner ${uid} --group ${uid} --mode 700 /data`)
    expect(valuesOf('VOLUME')).toEqual(['/data'])
    expect(environment['DATA_DIR']).toMatch(/^\/data\/./)
  })

  it('sets only settings that exist, to values that the service takes', () => {
    expect(unknownSettings(settings)).toEqual([])
    expect(faultsOf(settings)).toEqual([])
  })

  it('exposes the default ports', () => {
    const { gatewayPort, platformPort } = readConfig([], {})
    expect(valuesOf('EXPOSE')).toEqual([`${gatewayPort} ${platformPort}`])
  })

  it('starts a file that exists, with the path of the health check that exists', () => {
    const [start = ''] = valuesOf('ENTRYPOINT')
    const command = JSON.parse(start) as string[]
    expect(command[0]).toBe('node')
    expect(existsSync(join(ROOT, command[1]!.replace('/app/', '')))).toBe(true)
    const [check = ''] = valuesOf('HEALTHCHECK')
    const [, probe = '[]'] = /CMD (\[.*\])$/.exec(check) ?? []
    const [node, script = 'missing', path] = JSON.parse(probe) as string[]
    expect([node, existsSync(join(ROOT, script.replace('/app/', '')))]).toEqual(['node', true])
    expect(Object.values(SERVICE_OPERATIONS).map((operation) => operation.path as string)).toContain(path)
  })

  it('sends no data folder, secret or history to the builder', () => {
    const lines = readDeployment('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    expect(lines[0]).toBe('*')
    const kept = lines.slice(1).map((line) => line.slice(1))
    expect(lines.slice(1).every((line) => line.startsWith('!'))).toBe(true)
    expect(kept.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    expect(kept).toEqual(
      expect.arrayContaining(['src', 'sql', 'packaging', 'bin', 'package.json', 'package-lock.json']),
    )
    expect(kept.filter((path) => /^(?:\.env|\.git|data|test|node_modules|build)/.test(path))).toEqual([])
  })
})
