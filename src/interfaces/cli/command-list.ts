/**
 * Commands of the first level, with a line of help each.
 *
 * The module of a command is imported when the command runs, so that `tollgate --help` loads none of them.
 */

import type { CommandEntry, CommandSection } from './command-entry.ts'
import type { FolderCommand } from './commands/folder-commands.ts'
import type { Io } from './io.ts'

const offline = (gate: 'lint' | 'breaking') => async (args: readonly string[], io: Io) =>
  (await import('./commands/offline.ts')).runOffline(gate, args, io)
const onFolder = (name: FolderCommand) => async (args: readonly string[]) =>
  (await import('./commands/folder-commands.ts')).runOnFolder(name, args)

const resource = (name: string, summary: string): CommandEntry => ({
  name,
  summary,
  load: async () => (await import('./commands/resources.ts')).buildResource(name),
})

const ofFolder = (
  name: string,
  summary: string,
  build: 'buildDump' | 'buildDiff' | 'buildPlan' | 'buildApply' | 'buildSync' | 'buildAdopt',
): CommandEntry => ({
  name,
  summary,
  load: async () => (await import('./commands/configuration.ts'))[build],
})

export const SECTIONS: readonly CommandSection[] = [
  {
    title: 'Try it:',
    entries: [
      {
        name: 'dev',
        summary: 'Serves an API from its document, in front of your backend, and shows each call',
        load: async () => (await import('./commands/dev.ts')).buildDev,
      },
      {
        name: 'demo',
        summary: 'Sends a minute of mixed traffic, and shows what the service reports',
        usage: '[--seconds N] [--gateway-url URL --base-url URL]',
        run: async (args) => (await import('./commands/demo.ts')).runDemo(args),
      },
    ],
  },
  {
    title: 'Sign-in:',
    entries: [
      {
        name: 'login',
        summary: 'Signs in to a service',
        load: async () => (await import('./commands/sign-in.ts')).buildLogin,
      },
      {
        name: 'logout',
        summary: 'Signs out of a service and removes its tokens',
        load: async () => (await import('./commands/sign-in.ts')).buildLogout,
      },
      {
        name: 'whoami',
        summary: 'Shows who is signed in, and where',
        load: async () => (await import('./commands/sign-in.ts')).buildWhoami,
      },
      {
        name: 'context',
        summary: 'Lists the services that you are signed in to, and chooses one',
        load: async () => (await import('./commands/sign-in.ts')).buildContext,
      },
    ],
  },
  {
    title: 'APIs:',
    entries: [
      resource('apis', 'Lists, deprecates and retires APIs'),
      resource('proxies', 'Deploys APIs: stages, activates, discards and rolls back revisions'),
      resource('programmes', 'Takes a document to a running API in eight steps'),
      resource('products', 'Bundles APIs with a common subscription'),
      resource('openapispecs', 'Reads OpenAPI documents as published'),
      resource('openslaspecs', 'Publishes and reads OpenSLA declarations'),
    ],
  },
  {
    title: 'Access:',
    entries: [
      resource('consumers', 'Manages applications and agents that call APIs'),
      resource('subscriptions', 'Manages the access of consumers to APIs'),
      resource('credentials', 'Lists, rotates and revokes credentials'),
      resource('approvals', 'Lists and decides what waits for approval'),
    ],
  },
  {
    title: 'Operation:',
    entries: [
      resource('risks', 'Lists risks, and follows them live'),
      resource('usage', 'Shows consumption and its cost'),
      resource('requests', 'Lists and explains single calls'),
      resource('webhooks', 'Manages receivers of events and their deliveries'),
      resource('attention', 'Lists what needs attention now'),
      resource('audit', 'Lists who changed what'),
      resource('system', 'Shows the settings in force and the health of the process'),
      resource('nodes', 'Lists the nodes that share the registry, and removes them'),
      resource('service', 'Shows the state of the service'),
      {
        name: 'completion',
        summary: 'Prints a completion script for bash, zsh or fish',
        load: async () => (await import('./commands/completion.ts')).buildCompletion,
      },
      {
        name: 'api',
        summary: 'Calls any operation of the platform API',
        load: async () => (await import('./commands/api.ts')).buildApi,
      },
    ],
  },
  {
    title: 'Organisation:',
    entries: [
      resource('users', 'Manages people'),
      resource('me', 'Manages your own account'),
      resource('clients', 'Manages clients that registered themselves'),
      resource('roles', 'Manages the rights of people'),
      resource('policy', 'Shows and changes the policy of the organisation'),
      resource('rulesets', 'Manages rules for documents'),
      resource('adrs', 'Manages architecture decision records'),
      resource('principles', 'Manages principles'),
      resource('identityproviders', 'Manages external identity providers'),
      resource('signingkeys', 'Lists and rotates the keys that sign tokens'),
      resource('tenants', 'Manages tenants; for the operator only'),
      resource('portal', 'Manages the portal for people of consumers'),
      resource('search', 'Finds APIs, consumers, subscriptions and others by the beginning of an id or a name'),
    ],
  },
  {
    title: 'Configuration as code:',
    entries: [
      ofFolder('dump', 'Writes the configuration of a service to a folder', 'buildDump'),
      ofFolder('diff', 'Shows what a folder would change', 'buildDiff'),
      ofFolder('plan', 'Pins what a folder would change, to apply it later', 'buildPlan'),
      ofFolder('apply', 'Creates and changes what a folder or a plan describes', 'buildApply'),
      ofFolder('sync', 'Applies a folder, and removes what it owns and no longer contains', 'buildSync'),
      ofFolder('adopt', 'Makes existing resources those of a folder', 'buildAdopt'),
    ],
  },
  {
    title: 'Documents:',
    entries: [
      {
        name: 'lint',
        summary: 'Judges OpenAPI documents on this machine',
        usage: 'FILE… [options]',
        run: offline('lint'),
      },
      {
        name: 'breaking',
        summary: 'Lists the changes from one version of a document to the next',
        usage: 'OLD NEW [options]',
        run: offline('breaking'),
      },
      {
        name: 'validate',
        summary: 'Judges an OpenAPI document with a service and the policy of a tenant',
        usage: 'FILE [options]',
        run: async (args, io) => (await import('./commands/validate.ts')).runValidate(args, io),
      },
    ],
  },
  {
    title: 'Service:',
    entries: [
      {
        name: 'start',
        summary: 'Starts the service with the settings of the environment',
        usage: '[--empty] [--data-dir DIR] [--gateway-port N] …',
        run: async (args) => (await import('./commands/start.ts')).runStart(args),
      },
      {
        name: 'admin',
        summary: 'Replaces a lost admin secret while the service is stopped',
        usage: 'reset [--data-dir DIR]',
        run: onFolder('admin'),
      },
      {
        name: 'backup',
        summary: 'Copies the data folder of a service that runs or is stopped',
        usage: 'DIR [--data-dir DATA_DIR]',
        run: onFolder('backup'),
      },
      {
        name: 'restore',
        summary: 'Brings a backup up in a new data folder',
        usage: 'DIR --data-dir NEW',
        run: onFolder('restore'),
      },
      {
        name: 'recover',
        summary: 'Accepts the loss of a part of the data folder without which a start was refused',
        usage: '--accept-loss registry|checkpoint|store|spool [--data-dir DIR]',
        run: onFolder('recover'),
      },
      {
        name: 'migrate',
        summary: 'Copies the registry of a stopped service to PostgreSQL, for several nodes',
        usage: '--from DATA_DIR [--to DATABASE_URL]',
        run: onFolder('migrate'),
      },
      {
        name: 'drain',
        summary: 'Stores the calls that a dead node left in its data folder',
        usage: '--data-dir DIR',
        run: onFolder('drain'),
      },
      {
        name: 'spool',
        summary: 'Prints what a spool holds and what is damaged; the service may run',
        usage: 'inspect DIR [--batches]',
        run: onFolder('spool'),
      },
    ],
  },
]
