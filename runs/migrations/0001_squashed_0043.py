"""Migrations 1 to 43 as one, for new databases: the last thirteen alone took 3 s of a first start.

A database that has some of them goes on with those; one that has all of them counts as having this.
"""

from importlib import import_module

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import runs.models.webhook
from django.conf import settings
from django.db import migrations, models


roles = import_module("runs.migrations.0013_roles")
audit = import_module("runs.migrations.0026_audit_table")


class CreateTogether(migrations.SeparateDatabaseAndState):
    """Tables, when all of their models are known. One after the other, Django makes the classes of
    all related models anew for each, which takes longer than everything else of a first start."""

    def state_forwards(self, app_label, state):
        state.__dict__.pop("apps", None)
        super().state_forwards(app_label, state)

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        for each in self.state_operations:
            each.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        for each in reversed(self.state_operations):
            each.database_backwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):

    replaces = [
        ("runs", "0001_initial"),
        ("runs", "0002_limits_prices_and_costs"),
        ("runs", "0003_benchmark"),
        ("runs", "0004_retuning_and_pauses"),
        ("runs", "0005_pausing"),
        ("runs", "0006_budgets"),
        ("runs", "0007_cache_indexes"),
        ("runs", "0008_set_aside"),
        ("runs", "0009_tokens_and_request_digests"),
        ("runs", "0010_cached_reply_checksum"),
        ("runs", "0011_webhooks"),
        ("runs", "0012_run_is_shared"),
        ("runs", "0013_roles"),
        ("runs", "0014_score_calls_and_full_cost"),
        ("runs", "0015_run_chosen"),
        ("runs", "0016_dataset_expected_column"),
        ("runs", "0017_plain_line_ends"),
        ("runs", "0018_archived_and_updated_by"),
        ("runs", "0019_run_latency_of_calls_made"),
        ("runs", "0020_truncated_answers"),
        ("runs", "0021_roles_of_trials"),
        ("runs", "0022_score_record"),
        ("runs", "0023_made_cases"),
        ("runs", "0024_frozen_limits"),
        ("runs", "0025_judges_that_ask"),
        ("runs", "0026_audit_table"),
        ("runs", "0027_endpoint_private_addresses"),
        ("runs", "0028_known_devices"),
        ("runs", "0029_dataset_is_shared"),
        ("runs", "0030_quotas_of_people"),
        ("runs", "0031_dataset_roles_and_origin"),
        ("runs", "0032_run_figures"),
        ("runs", "0033_rerun_and_overrides"),
        ("runs", "0034_prompt_library"),
        ("runs", "0035_flags"),
        ("runs", "0036_socket_quota"),
        ("runs", "0037_prompt_origin"),
        ("runs", "0038_maintenance"),
        ("runs", "0039_dry_runs"),
        ("runs", "0040_endpoint_providers_prices_and_network"),
        ("runs", "0041_people"),
        ("runs", "0042_runs_list_trash_and_retention"),
        ("runs", "0043_configurations_over_time"),
    ]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        CreateTogether(state_operations=[
            migrations.CreateModel(
                name='ApiToken',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                    ('name', models.CharField(max_length=80)),
                    ('prefix', models.CharField(help_text='The readable beginning.', max_length=16, unique=True)),
                    ('digest', models.CharField(help_text='SHA-256 of the whole token.', max_length=64)),
                    ('scopes', models.JSONField(default=list)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('expires', models.DateTimeField(blank=True, null=True)),
                    ('last_used', models.DateTimeField(blank=True, null=True)),
                    ('revoked', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='AuditEntry',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                    ('action', models.CharField(help_text='One of AuditAction.', max_length=40)),
                    ('actor_id', models.BigIntegerField(help_text='Account; none: nobody signed in.', null=True)),
                    ('actor', models.CharField(help_text="Name of the account, or of the shell's.", max_length=150)),
                    ('token', models.CharField(help_text='Readable beginning of the API token used.', max_length=16)),
                    ('subject_kind', models.CharField(help_text='run, endpoint, dataset, user, …', max_length=30)),
                    ('subject_id', models.BigIntegerField(null=True)),
                    ('subject', models.CharField(help_text='Its name at that moment.', max_length=200)),
                    ('detail', models.CharField(max_length=300)),
                    ('door', models.CharField(help_text='One of AuditDoor.', max_length=10)),
                    ('address', models.CharField(help_text='Network address of the client.', max_length=45)),
                    ('request_id', models.CharField(help_text='As in the log and X-Request-ID.', max_length=20)),
                ],
                options={
                    'verbose_name_plural': 'audit entries',
                    'indexes': [models.Index(fields=['actor_id', 'at'], name='audit_actor_at'), models.Index(fields=['action', 'at'], name='audit_action_at'), models.Index(fields=['subject_kind', 'subject_id'], name='audit_subject')],
                },
            ),
            migrations.CreateModel(
                name='Benchmark',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                    ('conditions', models.JSONField(help_text='Machine, versions, provider, load, seed.')),
                    ('results', models.JSONField(help_text='The points, each with n and its spread.')),
                    ('code_version', models.CharField(max_length=80)),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='Configuration',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=120, unique=True)),
                    ('description', models.CharField(blank=True, max_length=300)),
                    ('kind', models.CharField(editable=False, max_length=20)),
                    ('document', models.JSONField(help_text='The configuration itself, as in a YAML file: kind, dataset, prompts, models, …')),
                    ('version', models.PositiveIntegerField(default=1, editable=False)),
                    ('is_preset', models.BooleanField(default=False, help_text='Offered to everybody as a starting point on the new-run page.')),
                    ('is_shared', models.BooleanField(default=False, help_text='Everybody on this site may see and launch it.')),
                    ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                    ('baseline', models.ForeignKey(blank=True, help_text='The run that its runs are compared with.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.run')),
                    ('gates', models.JSONField(blank=True, default=dict, help_text='What else its runs are held to, as min_score.')),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('updated', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'ordering': ['name'],
                },
            ),
            migrations.CreateModel(
                name='ConfigurationVersion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('configuration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='runs.configuration')),
                    ('version', models.PositiveIntegerField()),
                    ('kind', models.CharField(max_length=20)),
                    ('document', models.JSONField()),
                    ('saved_by', models.ForeignKey(blank=True, help_text='Empty: the command line, or an account that was removed.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ],
                options={
                    'ordering': ['-version'],
                    'constraints': [models.UniqueConstraint(fields=('configuration', 'version'), name='configuration_version')],
                },
            ),
            migrations.CreateModel(
                name='Endpoint',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(help_text='Configurations name a model as endpoint/model, so no spaces or slashes.', max_length=60, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9._-]*$', 'Use lower-case letters, digits, dots, dashes and underscores, as in openai-main.')])),
                    ('kind', models.CharField(choices=[('openai', 'OpenAI-compatible'), ('azure', 'Azure OpenAI'), ('anthropic', 'Anthropic messages'), ('ollama', 'Ollama'), ('app', 'Your own HTTP app'), ('simulated', 'Simulated provider')], max_length=20)),
                    ('base_url', models.URLField(blank=True, help_text='Up to and including the version, as in https://provider.example/v1. Leave empty for the simulated provider that is shipped with the site.', max_length=300)),
                    ('model_names', models.JSONField(blank=True, default=list, help_text='Model names offered on the new-run page.')),
                    ('max_concurrent', models.PositiveIntegerField(default=20, help_text='Calls in flight per model, over all runs and workers.', validators=[django.core.validators.MinValueValidator(1)])),
                    ('requests_per_minute', models.PositiveIntegerField(blank=True, help_text='Per model, over all runs and workers. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                    ('tokens_per_minute', models.PositiveIntegerField(blank=True, help_text='Input and output, per model, over all runs and workers. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1)])),
                    ('adaptive', models.BooleanField(default=True, help_text='Start gently, grow while all goes well, and slow down when the provider says so. Never above the limits given here.')),
                    ('is_paused', models.BooleanField(default=False, editable=False, help_text='Starts no new calls until it is resumed.')),
                    ('more_urls', models.JSONField(blank=True, default=list, help_text='Further servers of the same kind with the same models: the least loaded one gets the next call (Ollama).')),
                    ('options', models.JSONField(blank=True, default=dict, help_text='What its kind can be told besides, as in {"api_version": "2024-10-21"}.')),
                    ('private_addresses', models.JSONField(blank=True, default=list, help_text='Addresses within a private network that an admin allowed this endpoint to call, as host:port. Of others its calls are refused.')),
                    ('private_set_at', models.DateTimeField(blank=True, editable=False, null=True)),
                    ('private_set_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('prices', models.JSONField(blank=True, default=dict, help_text='Dollars per million tokens, as in {"some-model": {"input": 2.5, "output": 10}}. A model without a price costs an unknown amount, never nothing.')),
                    ('listed_prices', models.JSONField(blank=True, default=dict, editable=False, help_text='Of its prices those that come from the list kept with the site, and its date.')),
                    ('header_names', models.JSONField(blank=True, default=list, editable=False)),
                    ('headers_ciphertext', models.TextField(blank=True, editable=False)),
                    ('proxy_shown', models.CharField(blank=True, editable=False, help_text='Its own proxy without the password; direct: none, whatever the site has.', max_length=300)),
                    ('proxy_ciphertext', models.TextField(blank=True, editable=False)),
                    ('ca_bundle', models.TextField(blank=True, help_text='Certificates in PEM that its servers may be signed by, besides the usual ones.')),
                    ('key_ciphertext', models.TextField(blank=True, editable=False)),
                    ('key_hint', models.CharField(blank=True, editable=False, max_length=8)),
                    ('key_set_at', models.DateTimeField(blank=True, editable=False, null=True)),
                    ('key_set_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('updated', models.DateTimeField(auto_now=True)),
                    ('updated_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('archived', models.DateTimeField(blank=True, editable=False, help_text='Since then offered for no new run.', null=True)),
                    ('remove_after', models.DateTimeField(blank=True, editable=False, help_text='Deleted: archived, and removed for good after that.', null=True)),
                ],
                options={
                    'ordering': ['name'],
                },
            ),
            migrations.CreateModel(
                name='Invitation',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('digest', models.CharField(help_text="SHA-256 of the link's token.", max_length=64, unique=True)),
                    ('role', models.CharField(help_text='Of the new account, one of runs/roles.py.', max_length=20)),
                    ('note', models.CharField(blank=True, default='', help_text='For whom it is.', max_length=80)),
                    ('made', models.DateTimeField(default=django.utils.timezone.now)),
                    ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to=settings.AUTH_USER_MODEL)),
                    ('expires', models.DateTimeField()),
                    ('revoked', models.DateTimeField(blank=True, null=True)),
                    ('used', models.DateTimeField(blank=True, null=True)),
                    ('used_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
            ),
            migrations.CreateModel(
                name='Maintenance',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('begun', models.DateTimeField(auto_now_add=True)),
                    ('by', models.CharField(max_length=150)),
                    ('reason', models.CharField(blank=True, max_length=200)),
                ],
            ),
            migrations.CreateModel(
                name='PersonQuota',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('person', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='quota', to=settings.AUTH_USER_MODEL)),
                    ('role', models.CharField(blank=True, max_length=20, null=True, unique=True)),
                    ('trials_per_run', models.PositiveIntegerField(blank=True, null=True)),
                    ('active_runs', models.PositiveIntegerField(blank=True, null=True)),
                    ('dollars_per_day', models.FloatField(blank=True, null=True)),
                    ('stored_megabytes', models.PositiveIntegerField(blank=True, null=True)),
                    ('slots', models.PositiveIntegerField(blank=True, help_text='Calls in flight over all runs of the person.', null=True)),
                    ('sockets', models.PositiveIntegerField(blank=True, help_text='Pages of the person that are live at once.', null=True)),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('person__isnull', False), ('role__isnull', False), _connector='XOR'), name='quota_of_one')],
                },
            ),
            migrations.CreateModel(
                name='Profile',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('person', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='profile', to=settings.AUTH_USER_MODEL)),
                    ('theme', models.CharField(blank=True, default='', help_text='One of Theme; empty: as the browser says.', max_length=10)),
                    ('time_zone', models.CharField(blank=True, default='', help_text='As in Europe/Berlin; empty: UTC.', max_length=40)),
                ],
            ),
            migrations.CreateModel(
                name='ProviderIdentity',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='identities', to=settings.AUTH_USER_MODEL)),
                    ('issuer', models.CharField(max_length=300)),
                    ('subject', models.CharField(max_length=255)),
                    ('added', models.DateTimeField(default=django.utils.timezone.now)),
                ],
                options={
                    'verbose_name_plural': 'provider identities',
                    'constraints': [models.UniqueConstraint(fields=('issuer', 'subject'), name='one_person_per_subject')],
                },
            ),
            migrations.CreateModel(
                name='RetentionRules',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run_days', models.PositiveIntegerField(blank=True, null=True)),
                    ('sample_days', models.PositiveIntegerField(blank=True, null=True)),
                    ('cache_days', models.PositiveIntegerField(blank=True, null=True)),
                    ('cache_megabytes', models.PositiveIntegerField(blank=True, null=True)),
                    ('looked', models.DateTimeField(blank=True, help_text='When the rules were last acted on to the end.', null=True)),
                ],
            ),
            migrations.CreateModel(
                name='SavedView',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='views', to=settings.AUTH_USER_MODEL)),
                    ('name', models.CharField(max_length=60)),
                    ('query', models.CharField(blank=True, help_text='As it stands in an address.', max_length=2000)),
                ],
                options={
                    'ordering': ['name'],
                    'constraints': [models.UniqueConstraint(fields=('owner', 'name'), name='saved_view_name')],
                },
            ),
            migrations.CreateModel(
                name='Schedule',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('configuration', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='schedule', to='runs.configuration')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to=settings.AUTH_USER_MODEL)),
                    ('cron', models.CharField(help_text='Minute, hour, day, month, day of the week.', max_length=100)),
                    ('time_zone', models.CharField(default='UTC', max_length=60)),
                    ('catches_up', models.BooleanField(default=False, help_text='After an outage: one run for all due times that were missed.')),
                    ('is_on', models.BooleanField(default=True)),
                    ('stopped', models.CharField(blank=True, help_text='Why the site stopped it; empty: a person did.', max_length=300)),
                    ('next_due', models.DateTimeField(blank=True, help_text='Empty: it is off.', null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'indexes': [models.Index(fields=['next_due'], name='schedule_next_due')],
                },
            ),
            migrations.CreateModel(
                name='SignInFailure',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('account', models.CharField(help_text='A keyed hash of the name: people type passwords there.', max_length=64)),
                    ('address', models.CharField(max_length=45)),
                    ('device', models.CharField(blank=True, default='', help_text='Empty unless the account knows it.', max_length=32)),
                    ('at', models.DateTimeField()),
                ],
                options={
                    'indexes': [models.Index(fields=['account', 'at'], name='runs_signin_account_5ee265_idx'), models.Index(fields=['address', 'at'], name='runs_signin_address_8cf385_idx'), models.Index(fields=['at'], name='runs_signin_at_7ba540_idx')],
                },
            ),
            migrations.CreateModel(
                name='Team',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=80, unique=True)),
                    ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ],
            ),
            migrations.CreateModel(
                name='Dataset',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=120)),
                    ('version', models.PositiveIntegerField(default=1)),
                    ('columns', models.JSONField(default=list)),
                    ('rows', models.PositiveIntegerField(default=0)),
                    ('expected_column', models.CharField(blank=True, help_text='The column that scorers compare answers with; empty: none.', max_length=100)),
                    ('roles', models.JSONField(blank=True, default=dict, help_text='What columns are for: metadata, split, tags or id. Those not named are inputs.')),
                    ('origin', models.CharField(blank=True, editable=False, help_text='Where its rows come from, in words.', max_length=300)),
                    ('digest', models.CharField(help_text='SHA-256 over the rows in order.', max_length=64)),
                    ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                    ('is_shared', models.BooleanField(default=False, help_text='Everybody on this site may see it, in all its versions.')),
                    ('team', models.ForeignKey(blank=True, editable=False, help_text='Whose members may see it, too.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.team')),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('archived', models.DateTimeField(blank=True, editable=False, help_text='Since then offered for no new run.', null=True)),
                    ('remove_after', models.DateTimeField(blank=True, editable=False, help_text='Deleted: archived, and removed for good after that.', null=True)),
                    ('size', models.PositiveBigIntegerField(default=0, editable=False, help_text='Bytes of its rows as JSON.')),
                    ('is_hidden', models.BooleanField(default=False, editable=False, help_text='Made for runs or pasted into one: offered nowhere, seen by whoever may see one of its runs, and removed with the last of them. Pasted rows have an owner.')),
                ],
                options={
                    'ordering': ['name', '-version'],
                    'constraints': [models.UniqueConstraint(fields=('name', 'version'), name='dataset_name_version')],
                },
            ),
            migrations.CreateModel(
                name='Case',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cases', to='runs.dataset')),
                    ('position', models.PositiveIntegerField()),
                    ('fields', models.JSONField()),
                ],
                options={
                    'ordering': ['position'],
                    'constraints': [models.UniqueConstraint(fields=('dataset', 'position'), name='case_dataset_position')],
                },
            ),
            migrations.CreateModel(
                name='DryRun',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                    ('dataset', models.ForeignKey(help_text='None: its rows were given in place.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.dataset')),
                    ('created', models.DateTimeField(default=django.utils.timezone.now)),
                    ('calls', models.PositiveIntegerField(default=0)),
                    ('cost', models.FloatField(default=0.0, help_text='Dollars, by known prices.')),
                    ('reply_keys', models.JSONField(default=list, help_text='Of the cached answers that it paid for: erased with the person or the dataset.')),
                ],
                options={
                    'indexes': [models.Index(fields=['owner', 'created'], name='dry_run_owner_created')],
                },
            ),
            migrations.CreateModel(
                name='Run',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to=settings.AUTH_USER_MODEL)),
                    ('is_shared', models.BooleanField(default=False, help_text='Everybody on this site may see it.')),
                    ('team', models.ForeignKey(blank=True, editable=False, help_text='Whose members may see it, too.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.team')),
                    ('name', models.CharField(max_length=120)),
                    ('kind', models.CharField(max_length=20)),
                    ('state', models.CharField(choices=[('queued', 'Queued'), ('starting', 'Starting'), ('running', 'Running'), ('pausing', 'Pausing'), ('paused', 'Paused'), ('finishing', 'Finishing'), ('completed', 'Completed'), ('completed_with_errors', 'Completed with errors'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=30)),
                    ('reason', models.CharField(blank=True, max_length=300)),
                    ('document', models.JSONField(help_text='The configuration as it was at launch.')),
                    ('configuration', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='runs.configuration')),
                    ('configuration_version', models.PositiveIntegerField(blank=True, help_text='Of its configuration, at launch.', null=True)),
                    ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='runs.dataset')),
                    ('rerun_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reruns', to='runs.run')),
                    ('rerun_what', models.CharField(blank=True, help_text='Of a rerun: which trials, in words.', max_length=120)),
                    ('snapshot_of', models.JSONField(default=dict, help_text='Endpoints and code version as they were at launch.')),
                    ('idempotency_key', models.CharField(blank=True, max_length=80, null=True)),
                    ('request_digest', models.CharField(blank=True, help_text='Of the request that brought the key.', max_length=64)),
                    ('seed', models.BigIntegerField(default=0)),
                    ('priority', models.CharField(choices=[('low', 'Low'), ('normal', 'Normal'), ('high', 'High')], default='normal', max_length=10)),
                    ('limits_now', models.JSONField(blank=True, default=dict, help_text='Limits that were changed since the launch.')),
                    ('note', models.TextField(blank=True, help_text='What people should know about it.')),
                    ('archived', models.DateTimeField(blank=True, help_text='Since then out of lists; everything else stays.', null=True)),
                    ('remove_after', models.DateTimeField(blank=True, db_index=True, help_text='Deleted: archived, and removed for good after that.', null=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('started', models.DateTimeField(blank=True, null=True)),
                    ('ended', models.DateTimeField(blank=True, null=True)),
                    ('going_since', models.DateTimeField(blank=True, help_text='Its start or last resume.', null=True)),
                    ('ran_seconds', models.FloatField(default=0.0, help_text='How long it ran before its last pause.')),
                    ('drops_calls', models.BooleanField(default=False, help_text='While pausing: calls in flight are cancelled, not waited for.')),
                    ('spent_budgets', models.JSONField(blank=True, default=dict, help_text='Budgets that stopped it, as they were.')),
                    ('version', models.PositiveBigIntegerField(default=0, help_text='Numbers the live frames.')),
                    ('planned', models.PositiveIntegerField(default=0)),
                    ('asked', models.PositiveIntegerField(default=0, help_text='Trials of all roles already put into chunks.')),
                    ('done', models.PositiveIntegerField(default=0)),
                    ('failed', models.PositiveIntegerField(default=0)),
                    ('cached', models.PositiveIntegerField(default=0)),
                    ('truncated', models.PositiveIntegerField(default=0, help_text='Answers cut at their length.')),
                    ('scored', models.PositiveIntegerField(default=0)),
                    ('value_sum', models.FloatField(default=0.0)),
                    ('value_square_sum', models.FloatField(default=0.0)),
                    ('calls_sent', models.PositiveIntegerField(default=0)),
                    ('calls_retried', models.PositiveIntegerField(default=0)),
                    ('calls_throttled', models.PositiveIntegerField(default=0)),
                    ('tokens_in', models.PositiveBigIntegerField(default=0)),
                    ('tokens_out', models.PositiveBigIntegerField(default=0)),
                    ('latency_bins', models.JSONField(default=dict)),
                    ('calls_joined', models.PositiveIntegerField(default=0, help_text='Answers taken from an equal call that was under way.')),
                    ('cost', models.FloatField(default=0.0, help_text='Dollars, as far as prices are known.')),
                    ('cost_saved', models.FloatField(default=0.0, help_text='Dollars that the cache saved.')),
                    ('cost_day', models.DateField(blank=True, help_text='UTC day of its last cost.', null=True)),
                    ('cost_before_day', models.FloatField(default=0.0, help_text='Its cost when that day began.')),
                    ('promised', models.FloatField(default=0.0, help_text='Dollars that it may cost by our estimate; 0: nobody asked.')),
                    ('stored_bytes', models.PositiveBigIntegerField(default=0, help_text='About, of its scores.')),
                    ('quota', models.JSONField(blank=True, default=dict, help_text='What its owner may use while it runs.')),
                    ('unpriced', models.PositiveIntegerField(default=0, help_text='Answers of unknown price.')),
                    ('peak_in_flight', models.PositiveIntegerField(default=0)),
                    ('by_role', models.JSONField(blank=True, default=dict, help_text='Counters of each role but evaluate, by its name.')),
                    ('chosen', models.PositiveIntegerField(blank=True, help_text='The place of the candidate that its strategy chose.', null=True)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['state', 'id'], name='runs_run_state_2b0a8b_idx'), models.Index(fields=['owner', 'cost_day'], name='run_owner_cost_day')],
                    'constraints': [models.UniqueConstraint(fields=('owner', 'idempotency_key'), name='run_owner_idempotency_key')],
                },
            ),
            migrations.CreateModel(
                name='CachedReply',
                fields=[
                    ('key', models.CharField(max_length=64, primary_key=True, serialize=False)),
                    ('endpoint', models.CharField(max_length=60)),
                    ('model', models.CharField(max_length=200)),
                    ('text', models.TextField()),
                    ('latency_ms', models.FloatField(help_text='Of the original call, so cached runs compare fairly.')),
                    ('tokens_in', models.PositiveIntegerField(null=True)),
                    ('tokens_out', models.PositiveIntegerField(null=True)),
                    ('truncated', models.BooleanField(default=False, help_text='Cut at its length limit; rows of earlier versions do not say.')),
                    ('checksum', models.BigIntegerField(help_text='Of key, text and tokens; none in rows of earlier versions.', null=True)),
                    ('run', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.run')),
                    ('created', models.DateTimeField()),
                ],
                options={
                    'verbose_name_plural': 'cached replies',
                    'indexes': [models.Index(fields=['created'], name='runs_cached_created_58f828_idx'), models.Index(fields=['endpoint', 'model', 'created'], name='runs_cached_endpoin_605559_idx'), models.Index(fields=['run', 'created'], name='runs_cached_run_id_51cdd2_idx')],
                },
            ),
            migrations.CreateModel(
                name='Candidate',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='candidates', to='runs.run')),
                    ('position', models.PositiveIntegerField()),
                    ('key', models.CharField(max_length=64)),
                    ('name', models.CharField(max_length=250)),
                    ('document', models.JSONField(help_text='The prompt, the model and its parameters.')),
                    ('role', models.CharField(default='evaluate', help_text='Of its trials: evaluate, or told only.', max_length=20)),
                    ('done', models.PositiveIntegerField(default=0)),
                    ('failed', models.PositiveIntegerField(default=0)),
                    ('cached', models.PositiveIntegerField(default=0)),
                    ('truncated', models.PositiveIntegerField(default=0, help_text='Answers cut at their length.')),
                    ('scored', models.PositiveIntegerField(default=0)),
                    ('value_sum', models.FloatField(default=0.0)),
                    ('value_square_sum', models.FloatField(default=0.0)),
                    ('tokens_in', models.PositiveBigIntegerField(default=0)),
                    ('tokens_out', models.PositiveBigIntegerField(default=0)),
                    ('latency_bins', models.JSONField(default=dict)),
                ],
                options={
                    'ordering': ['position'],
                    'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='candidate_run_key'), models.UniqueConstraint(fields=('run', 'position'), name='candidate_run_position')],
                },
            ),
            migrations.CreateModel(
                name='Chunk',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='runs.run')),
                    ('start', models.PositiveIntegerField(help_text='Position of its first trial in the run.')),
                    ('trials', models.JSONField(help_text='[position, candidate position, case position, repeat] each.')),
                    ('state', models.CharField(choices=[('pending', 'Pending'), ('leased', 'Leased'), ('set_aside', 'Set aside'), ('done', 'Done'), ('cancelled', 'Cancelled')], default='pending', max_length=20)),
                    ('owner', models.CharField(blank=True, max_length=80)),
                    ('token', models.PositiveIntegerField(default=0, help_text='Fences the writes of lost leases.')),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('sent', models.DateTimeField(blank=True, null=True)),
                    ('deaths', models.PositiveIntegerField(default=0)),
                    ('kept', models.JSONField(help_text='By position, answers from before a retry: to be judged again.', null=True)),
                ],
                options={
                    'ordering': ['start'],
                    'indexes': [models.Index(fields=['state', 'lease_until'], name='runs_chunk_state_d8cde1_idx'), models.Index(fields=['run', 'state'], name='runs_chunk_run_id_838d2d_idx')],
                    'constraints': [models.UniqueConstraint(fields=('run', 'start'), name='chunk_run_start')],
                },
            ),
            migrations.CreateModel(
                name='DueTime',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('schedule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='times', to='runs.schedule')),
                    ('due', models.DateTimeField()),
                    ('outcome', models.CharField(choices=[('launched', 'Launched'), ('missed', 'Missed'), ('skipped', 'Skipped'), ('refused', 'Refused')], max_length=10)),
                    ('told', models.CharField(blank=True, max_length=300)),
                    ('missed', models.PositiveIntegerField(default=0, help_text='Due times before it that passed.')),
                    ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.run')),
                ],
                options={
                    'ordering': ['-due'],
                    'constraints': [models.UniqueConstraint(fields=('schedule', 'due'), name='due_time_once')],
                },
            ),
            migrations.CreateModel(
                name='Prompt',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=120)),
                    ('version', models.PositiveIntegerField(default=1)),
                    ('content', models.JSONField(help_text='As in a configuration: system and user, or messages; tools and tool_choice.')),
                    ('note', models.CharField(blank=True, help_text='What this version changed.', max_length=300)),
                    ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                    ('is_shared', models.BooleanField(default=False, help_text='Everybody on this site may see it, in all its versions.')),
                    ('team', models.ForeignKey(blank=True, editable=False, help_text='Whose members may see it, too.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.team')),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('run', models.ForeignKey(blank=True, help_text='Where these words were found.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.run')),
                    ('candidate', models.CharField(blank=True, help_text="The key of the run's candidate that has these words.", max_length=64)),
                ],
                options={
                    'ordering': ['name', '-version'],
                    'constraints': [models.UniqueConstraint(fields=('name', 'version'), name='prompt_name_version')],
                },
            ),
            migrations.CreateModel(
                name='RunEvent',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='runs.run')),
                    ('at', models.DateTimeField(auto_now_add=True)),
                    ('level', models.CharField(choices=[('info', 'Info'), ('warning', 'Warning'), ('error', 'Error')], default='info', max_length=10)),
                    ('kind', models.CharField(default='note', help_text='note, or limit: a change', max_length=20)),
                    ('data', models.JSONField(default=dict, help_text="Of a limit's change: key, from, to, reason.")),
                    ('message', models.CharField(max_length=500)),
                ],
                options={
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='RunFigures',
                fields=[
                    ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='figures', serialize=False, to='runs.run')),
                    ('stamp', models.CharField(help_text='Of the scores that it was made of.', max_length=200)),
                    ('low', models.FloatField(help_text="Of the interval of the run's mean score.", null=True)),
                    ('high', models.FloatField(null=True)),
                    ('document', models.JSONField(help_text='By candidate.')),
                ],
            ),
            migrations.CreateModel(
                name='RunGate',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='gate', to='runs.run')),
                    ('baseline', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='runs.run')),
                    ('asked', models.JSONField(default=dict, help_text='The number of the baseline, and what else was asked of the run.')),
                    ('claimed', models.DateTimeField(blank=True, help_text='Some process judges it.', null=True)),
                    ('judged', models.DateTimeField(blank=True, null=True)),
                    ('passed', models.BooleanField(blank=True, null=True)),
                    ('regressed', models.BooleanField(default=False, help_text='It is worse than its baseline.')),
                    ('checks', models.JSONField(default=list, help_text='[name, passed, in words] each.')),
                ],
                options={
                    'indexes': [models.Index(fields=['judged'], name='run_gate_judged')],
                },
            ),
            migrations.CreateModel(
                name='RunSample',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='samples', to='runs.run')),
                    ('second', models.PositiveIntegerField(help_text='Seconds since the run started.')),
                    ('fresh', models.PositiveIntegerField(default=0)),
                    ('cached', models.PositiveIntegerField(default=0)),
                    ('failed', models.PositiveIntegerField(default=0)),
                    ('in_flight', models.PositiveIntegerField(default=0)),
                    ('latency_bins', models.JSONField(default=dict)),
                ],
                options={
                    'ordering': ['second'],
                    'constraints': [models.UniqueConstraint(fields=('run', 'second'), name='sample_run_second')],
                },
            ),
            migrations.CreateModel(
                name='RunStar',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='stars', to='runs.run')),
                    ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='stars', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('person', 'run'), name='run_star_once')],
                },
            ),
            migrations.CreateModel(
                name='RunTag',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tags', to='runs.run')),
                    ('name', models.CharField(max_length=40)),
                ],
                options={
                    'ordering': ['name'],
                    'indexes': [models.Index(fields=['name', 'run'], name='run_tag_name')],
                    'constraints': [models.UniqueConstraint(fields=('run', 'name'), name='run_tag_once')],
                },
            ),
            migrations.CreateModel(
                name='Score',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='runs.run')),
                    ('position', models.PositiveIntegerField(help_text="The trial's place in the run's order.")),
                    ('candidate', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='runs.candidate')),
                    ('case', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='runs.case')),
                    ('repeat', models.PositiveSmallIntegerField(default=0)),
                    ('value', models.FloatField(null=True)),
                    ('passed', models.BooleanField(null=True)),
                    ('error_class', models.CharField(blank=True, max_length=40)),
                    ('error_message', models.CharField(blank=True, max_length=500)),
                    ('answer', models.TextField(blank=True)),
                    ('details', models.JSONField(default=list, help_text='What each scorer said.')),
                    ('attempts', models.JSONField(default=list, help_text='Each attempt: what happened, how long.')),
                    ('latency_ms', models.FloatField(null=True)),
                    ('tokens_in', models.PositiveIntegerField(null=True)),
                    ('tokens_out', models.PositiveIntegerField(null=True)),
                    ('cost', models.FloatField(help_text='Dollars; empty when the price is unknown.', null=True)),
                    ('full_cost', models.FloatField(help_text='Dollars if nothing had been cached; empty when unknown.', null=True)),
                    ('cached', models.BooleanField(default=False)),
                    ('truncated', models.BooleanField(default=False, help_text="The answer was cut at max_tokens, or at the model's own limit.")),
                    ('calls', models.JSONField(help_text='Of a pipeline, each call: step, model, prompt, answer, use.', null=True)),
                    ('judging', models.JSONField(help_text="What scorers asked: calls, attempts and what they used; the reply's figures if it could not be judged.", null=True)),
                    ('finished', models.DateTimeField()),
                ],
                options={
                    'ordering': ['position'],
                    'indexes': [models.Index(fields=['run', 'error_class', 'position'], name='runs_score_run_id_82b65e_idx'), models.Index(fields=['run', 'candidate', 'position'], name='runs_score_run_id_fc75ee_idx')],
                    'constraints': [models.UniqueConstraint(fields=('run', 'candidate', 'case', 'repeat'), name='score_one_per_trial'), models.UniqueConstraint(fields=('run', 'position'), name='score_run_position'), models.CheckConstraint(condition=models.Q(models.Q(('error_class', ''), ('value__isnull', False)), models.Q(('value__isnull', True), models.Q(('error_class', ''), _negated=True)), _connector='OR'), name='score_value_or_error')],
                },
            ),
            migrations.CreateModel(
                name='Override',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('score', models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='overrides', to='runs.score')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='overrides', to='runs.run')),
                    ('author', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('verdict', models.CharField(choices=[('right', 'Right'), ('wrong', 'Wrong'), ('value', 'Another value'), ('original', 'As the scorers said'), ('comment', 'Only a comment'), ('flag', 'Flagged, to look at again'), ('unflag', 'Flag removed')], max_length=10)),
                    ('value', models.FloatField(help_text='From 0 to 1; none: the original, or a comment.', null=True)),
                    ('comment', models.TextField(blank=True)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['id'],
                },
            ),
            migrations.CreateModel(
                name='ScoreRecord',
                fields=[
                    ('score', models.OneToOneField(on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='record', serialize=False, to='runs.score')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
                    ('size', models.PositiveIntegerField(help_text='Bytes of JSON.')),
                    ('packed', models.BinaryField(help_text='The JSON, compressed by zlib.')),
                ],
            ),
            migrations.CreateModel(
                name='TeamMember',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='runs.team')),
                    ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                    ('added', models.DateTimeField(default=django.utils.timezone.now)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('team', 'person'), name='once_in_a_team')],
                },
            ),
            migrations.CreateModel(
                name='Webhook',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to=settings.AUTH_USER_MODEL)),
                    ('url', models.CharField(help_text='Of a mail: mailto: and the address.', max_length=300)),
                    ('kind', models.CharField(choices=[('json', 'JSON, signed'), ('slack', 'Slack or compatible'), ('mail', 'Mail')], default='json', max_length=10)),
                    ('events', models.JSONField(default=runs.models.webhook.only_ends, help_text='Of AlertEvent: what is told to it.')),
                    ('nonce', models.CharField(help_text="Its secret is made of this and the site's key, and not stored.", max_length=32)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['id'],
                },
            ),
            migrations.CreateModel(
                name='WebhookDelivery',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='runs.webhook')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='runs.run')),
                    ('event', models.CharField(choices=[('run.ended', 'Ended'), ('run.gate_failed', 'Regressed, or failed a gate'), ('run.budget_stop', 'Stopped by its budget'), ('run.paused', 'Paused'), ('endpoint.failing', 'A model that it calls is failing')], default='run.ended', max_length=20)),
                    ('told', models.CharField(blank=True, help_text='Why, in words.', max_length=300)),
                    ('created', models.DateTimeField(auto_now_add=True)),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('next_try', models.DateTimeField(blank=True, help_text='Empty: nothing left to do.', null=True)),
                    ('delivered', models.DateTimeField(blank=True, null=True)),
                    ('problem', models.CharField(blank=True, max_length=200)),
                    ('status', models.PositiveSmallIntegerField(blank=True, help_text='Of the answer.', null=True)),
                    ('answer', models.CharField(blank=True, help_text='Its beginning; untrusted.', max_length=500)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['next_try'], name='runs_webhoo_next_tr_fd7243_idx')],
                },
            ),
        ]),
        migrations.RunPython(roles.give_roles, migrations.RunPython.noop),
        migrations.RunPython(audit.guard, audit.unguard),
    ]
