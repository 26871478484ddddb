/** Commands for people and the own account. */

import type { ResourceGroup } from './resource-command.ts'

export const USERS: ResourceGroup = {
  name: 'users',
  commands: [
    {
      name: 'list',
      operation: 'listUsers',
      call: 'GET /v1/users',
      summary: 'Lists people',
      filters: 'label',
      columns: 'id username name state roles',
    },
    { name: 'get', operation: 'getUser', call: 'GET /v1/users/{id}', summary: 'Shows a person' },
    {
      name: 'create',
      operation: 'createUser',
      call: 'POST /v1/users',
      summary: 'Creates a person, and prints the link that sets the password',
      fields: 'username name roles:json identity:json labels:map',
    },
    {
      name: 'update',
      operation: 'updateUser',
      call: 'PATCH /v1/users/{id}',
      summary: 'Changes fields of a person',
      fields: 'username name roles:json labels:map',
    },
    {
      name: 'remove',
      operation: 'deleteUser',
      call: 'DELETE /v1/users/{id}',
      summary: 'Removes a person',
      filters: 'erase',
    },
    {
      name: 'disable',
      operation: 'disableUser',
      call: 'POST /v1/users/{id}/disable',
      summary: 'Ends the access of a person',
    },
    {
      name: 'enable',
      operation: 'enableUser',
      call: 'POST /v1/users/{id}/enable',
      summary: 'Lets a person sign in again',
    },
    {
      name: 'invite',
      operation: 'inviteUser',
      call: 'POST /v1/users/{id}/invite',
      summary: 'Prints a new link that sets the password',
    },
    {
      name: 'reset-password',
      operation: 'resetPassword',
      call: 'POST /v1/users/{id}/resetPassword',
      summary: 'Removes a password, and prints the link that sets a new one',
      fields: 'removeSecondFactor:flag',
    },
    {
      name: 'sessions',
      operation: 'listSessions',
      call: 'GET /v1/users/{id}/sessions',
      summary: 'Lists the sessions of a person',
      columns: 'id clientId api loggedInAt lastUsedAt expiresAt',
    },
    {
      name: 'end-sessions',
      operation: 'endSessions',
      call: 'DELETE /v1/users/{id}/sessions',
      summary: 'Ends all sessions of a person',
    },
    {
      name: 'end-session',
      operation: 'endSession',
      call: 'DELETE /v1/users/{id}/sessions/{session}',
      summary: 'Ends one session of a person',
    },
  ],
  examples: [
    [
      `tollgate users create --username ada --name "Ada L." --roles '[{"role":"publisher"}]'`,
      'creates a person with a role',
    ],
  ],
}

export const ME: ResourceGroup = {
  name: 'me',
  commands: [
    { name: 'get', operation: 'getMe', call: 'GET /v1/me', summary: 'Shows your account' },
    { name: 'update', operation: 'updateMe', call: 'PATCH /v1/me', summary: 'Changes your name', fields: 'name' },
    {
      name: 'change-password',
      operation: 'changePassword',
      call: 'PUT /v1/me/password',
      summary: 'Changes your password, which ends all your sessions',
      fields: 'oldPassword:secret newPassword:secret',
    },
    {
      name: 'set-up-totp',
      operation: 'setUpTotp',
      call: 'POST /v1/me/totp',
      summary: 'Sets up a second factor: first without a code, then with one',
      fields: 'code',
    },
    {
      name: 'remove-totp',
      operation: 'removeTotp',
      call: 'DELETE /v1/me/totp',
      summary: 'Removes your second factor; asks for a code',
      secretHeader: 'X-Second-Factor',
    },
    {
      name: 'sessions',
      operation: 'listMySessions',
      call: 'GET /v1/me/sessions',
      summary: 'Lists your sessions',
      columns: 'id clientId api loggedInAt lastUsedAt expiresAt',
    },
    {
      name: 'end-sessions',
      operation: 'endMySessions',
      call: 'DELETE /v1/me/sessions',
      summary: 'Ends all your sessions',
    },
    {
      name: 'end-session',
      operation: 'endMySession',
      call: 'DELETE /v1/me/sessions/{id}',
      summary: 'Ends one of your sessions',
    },
  ],
  examples: [['tollgate me change-password', 'asks for both passwords without showing them']],
}

export const CLIENTS: ResourceGroup = {
  name: 'clients',
  commands: [
    {
      name: 'list',
      operation: 'listRegisteredClients',
      call: 'GET /v1/registeredclients',
      summary: 'Lists the clients that registered themselves',
      columns: 'id name api redirectUris lastUsedAt expiresAt',
    },
    {
      name: 'remove',
      operation: 'removeRegisteredClient',
      call: 'DELETE /v1/registeredclients/{id}',
      summary: 'Removes a client, and ends all sessions with it',
    },
  ],
  examples: [['tollgate clients list', 'shows the clients with the addresses that they return to']],
}
